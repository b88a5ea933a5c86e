"""The application with all its commands, in the order in which ``--help`` lists them."""

from labelgrove.cli._application import app
from labelgrove.cli.commands import (
    compact,
    demo,
    evaluate,
    explain,
    info,
    learn,
    predict,
    report,
    train,
    tree,
    tune,
)

__all__ = ["app"]

app.command(epilog=train.EPILOG)(train.train)
app.command()(learn.learn)
app.command()(predict.predict)
app.command("eval")(evaluate.evaluate)
app.command()(report.report)
app.command()(tune.tune)
app.command()(compact.compact)
app.command()(explain.explain)
app.command()(info.info)
app.add_typer(tree.tree_app, name="tree")
app.command()(demo.demo)
