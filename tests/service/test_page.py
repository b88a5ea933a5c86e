"""The page in a real browser: suggestions, explanations and learning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from labelgrove.client import Client
from labelgrove.service import Service
from labelgrove.vocabulary import Concept, Vocabulary
from reporting.browser import PATIENCE_MS, Screen
from service.kit import examples
from waiting import until

expect.set_options(timeout=PATIENCE_MS)

pytestmark = pytest.mark.slow  # and no sanitizer can be loaded into a browser


def look_for_news(page: Page) -> None:
    """Wait until the page has asked for news again, and got an answer."""
    answered: list[str] = []
    page.on("response", lambda answer: answered.append(answer.url))
    until(
        lambda: any("/stats?" in one for one in answered),
        lambda: page.clock.fast_forward(3000),  # since its last look
    )


def test_it_suggests_while_typing_and_learns_what_is_taught(
    screen: Callable[..., Screen], address: str
) -> None:
    sent = [{"text": text, "labels": labels} for text, labels in examples(200)]
    url = f"{address}/v1/projects/demo/examples?wait=applied"
    httpx.post(url, json={"examples": sent}, timeout=60).raise_for_status()
    window = screen(390, True)
    page = window.page
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    assert window.run("document.documentElement.scrollWidth") == 390
    [red, *_] = window.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g)")
    assert int(red) < 60
    assert page.text_content("#examples") == "200"

    page.locator("#text").press_sequentially("cat and cat")
    expect(page.locator("#suggestions .name").first).to_have_text("cat")
    expect(page.locator("#why mark.for").first).to_have_text("cat")
    assert "ms" in (page.text_content("#latency") or "")

    page.locator("#label").focus()  # from here on with the keyboard only
    page.keyboard.type("zoo")
    page.keyboard.press("Enter")
    expect(page.locator("#suggestions li:has-text('zoo')")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#examples")).to_have_text("201")
    expect(page.locator("#suggestions li:has-text('zoo')")).to_be_visible()
    page.locator("#suggestions li:has-text('zoo') button").click()
    expect(page.locator("#examples")).to_have_text("202")
    expect(page.locator("#log")).to_contain_text("zoo")
    expect(page.locator("#chart path")).to_be_visible()
    stored = httpx.get(f"{address}/v1/projects/demo/examples/@202").json()
    assert (stored["text"], stored["labels"]) == ("cat and cat", ["zoo"])

    assert window.errors == []
    assert all(one.startswith((address, "data:")) for one in window.requests)
    wide = screen(1280, False)
    wide.page.goto(address)
    wide.page.wait_for_selector("html[data-ready]")
    assert wide.run("document.documentElement.scrollWidth") == 1280
    assert wide.errors == []


def test_a_short_stream_is_drawn_as_its_share_so_far(
    screen: Callable[..., Screen], address: str
) -> None:
    with Client(address, "demo") as client:
        for label in ("cat", "cat", "dog", "cat", "cat"):
            client.learn(["meow"], [[label]], applied=True)
    page = screen(1280, False).page
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#right")).to_have_text("60.0 %")  # neither the first nor the dog
    drawn = page.locator("#chart path").get_attribute("d") or ""
    shares = [(110 - float(point.split(",")[1])) / 100 for point in drawn[1:].split("L")]
    assert shares == pytest.approx([0, 1 / 2, 1 / 3, 1 / 2, 3 / 5])


def test_a_name_stands_for_its_label(screen: Callable[..., Screen], address: str) -> None:
    concepts = [Concept(f"http://a/{i}", {"en": name}) for i, name in enumerate(("Cat", "Dog"))]
    with Client(address, "animals") as client:
        client.make({"language": "en"}, Vocabulary(concepts))
    page = screen(1280, False).page
    page.clock.install()
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.locator("#project").select_option("animals")
    page.locator("#teach-form").evaluate("form => form.requestSubmit()")
    expect(page.locator("#notice")).to_have_text("Type or paste a text first.")
    look_for_news(page)
    expect(page.locator("#notice")).to_have_text("Type or paste a text first.")
    page.locator("#text").fill("it barks")
    for typed, key in (("dog", "Enter"), ("http://a/0", "Control+Enter")):
        page.locator("#label").fill(typed)
        page.locator("#label").press(key)
    expect(page.locator("#examples")).to_have_text("1")
    expect(page.locator("#notice")).to_be_hidden()
    stored = httpx.get(f"{address}/v1/projects/animals/examples/@2").json()
    assert stored["labels"] == ["http://a/1", "http://a/0"]


def test_the_keyboard_goes_on_where_it_was(screen: Callable[..., Screen], address: str) -> None:
    with Client(address, "demo") as client:
        client.learn(["meow", "bark"], [["cat"], ["dog"]], applied=True)
    page = screen(1280, False).page
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.locator("#text").fill("bark")
    only = page.get_by_role("button", name="Teach cat alone")
    for total in ("3", "4"):
        only.press("Enter")
        expect(page.locator("#examples")).to_have_text(total)
        expect(only).to_be_focused()


def test_a_long_name_of_a_project_fits_into_a_narrow_window(
    screen: Callable[..., Screen], address: str
) -> None:
    with Client(address, "long") as client:
        client.make({"name": "a name " * 28})
    window = screen(320, False)
    window.page.goto(address)
    window.page.wait_for_selector("html[data-ready]")
    assert window.run("document.documentElement.scrollWidth") == 320


def test_names_are_those_of_the_project(screen: Callable[..., Screen], address: str) -> None:
    with Client(address, "animals") as client:
        client.make({"language": "en"}, Vocabulary([Concept("a/0", {"en": "Cat"})]))
        client.learn(["meow"], [["a/0"]], applied=True)
    with Client(address, "demo") as client:
        client.learn(["bark"], [["a/0"]], applied=True)
    page = screen(1280, False).page
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.locator("#text").fill("meow")
    expect(page.locator("#suggestions .name").first).to_have_text("Cat")
    page.locator("#text").fill("")
    page.locator("#project").select_option("demo")
    expect(page.locator("#log")).to_contain_text("a/0 ← bark")


def test_events_are_fetched_once_and_the_vocabulary_never(
    screen: Callable[..., Screen], address: str
) -> None:
    window = screen(1280, False)
    page = window.page
    with Client(address, "demo") as client:
        page.clock.install()
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        client.learn(["meow"], [["cat"]], applied=True)
        for _ in range(3):
            look_for_news(page)
            expect(page.locator("#log")).to_contain_text("cat ← meow")
    expect(page.locator("#log li")).to_have_count(1)
    assert len([one for one in window.requests if "/log?after=1" in one]) == 2
    assert not [one for one in window.requests if "/log?after=0" in one]


def test_what_cannot_be_looked_up_is_not_left_out(
    screen: Callable[..., Screen], address: str
) -> None:
    window = screen(1280, False)
    page = window.page
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.locator("#text").fill("meow and bark")
    page.locator("#label").fill("cat")
    page.locator("#add").click()
    expect(page.locator("#suggestions li:has-text('cat')")).to_be_visible()
    page.locator("#label").fill("dog")
    page.route("**/labels?*", lambda route: route.fulfill(status=503, json={"detail": "Busy."}))
    page.locator("#label").press("Control+Enter")
    expect(page.locator("#notice")).to_have_text("Busy.")
    expect(page.locator("#label")).to_have_value("dog")
    expect(page.locator("#examples")).to_have_text("0")
    page.unroute("**/labels?*")
    page.locator("#label").press("Control+Enter")
    expect(page.locator("#examples")).to_have_text("1")
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.locator("#log")).to_contain_text("cat, dog ← meow and bark")


def test_it_does_not_ask_again_while_it_waits(screen: Callable[..., Screen], address: str) -> None:
    """A browser has six connections to a server: then none would be left for suggestions."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page = screen(1280, False).page
    page.clock.install()
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.route("**/stats?*", hold)
    for _ in range(10):
        page.clock.fast_forward(3000)
    with page.expect_response("**/labels?*"):  # later than all others
        page.locator("#label").fill("cat")
    assert len(held) == 1
    held[0].continue_()
    # It goes on once it has got its answer.
    until(lambda: len(held) > 1, lambda: page.clock.fast_forward(3000))


def test_a_token_to_read_shows_everything_but_the_log(
    screen: Callable[..., Screen], address: str, service: Service
) -> None:
    with Client(address, "demo") as client:
        client.learn(["meow", "bark"], [["cat"], ["dog"]], applied=True)
    reading, learning = service.tokens.add("read"), service.tokens.add("learn")
    page = screen(1280, False).page
    page.goto(address)
    for token, shown in ((reading, False), (learning, True)):
        expect(page.locator("#token")).to_be_visible()
        page.locator("#token").fill(token)
        with page.expect_response(lambda answer: "/log?" in answer.url):
            page.locator("#token").press("Enter")
        expect(page.locator("#log")).to_be_visible(visible=shown)
        expect(page.locator("#notice")).to_be_hidden()
        expect(page.locator("#examples")).to_have_text("2")
        page.evaluate("document.getElementById('token-form').hidden = false")


def test_a_failure_of_a_proxy_is_told(screen: Callable[..., Screen], address: str) -> None:
    page = screen(1280, False).page
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    answer: dict[str, Any] = {}
    page.route("**/suggest", lambda route: route.fulfill(**answer))
    bodies = ["<h1>Bad gateway</h1>", "{}", "null", '{"message": "no"}']
    for status, body in enumerate(bodies, start=502):
        answer.update(status=status, body=body)
        page.locator("#text").fill(f"meow {status}")
        expect(page.locator("#notice")).to_have_text(f"The server answered with status {status}.")
