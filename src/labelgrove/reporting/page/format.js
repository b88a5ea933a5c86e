"use strict";

/** Formats numbers for people. */
const format = {
  count: (value) => value.toLocaleString("en"),
  percent: (value) => `${(value * 100).toFixed(1)}`,
  p: (value) => (value < 0.001 ? "<.001" : value.toFixed(3)),
  signed: (value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toLocaleString("en")}`,
};

/** Create an element with attributes and children, which are elements or text. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Create a short bar with its number, for a share from 0 to 1. */
function meter(value, text = format.percent(value)) {
  return element("span", { class: "meter" }, element("i", { style: `--share: ${value * 100}%` }), element("span", {}, text));
}
