"""The application and its commands, in the order of ``--help``."""

from labelgrove.cli._application import Command, app
from labelgrove.cli.commands import (
    compact,
    convert,
    demo,
    evaluate,
    explain,
    info,
    learn,
    predict,
    report,
    serve,
    train,
    tree,
    tune,
)

__all__ = ["app"]

app.command(cls=Command, epilog=train.EPILOG)(train.train)
app.command(cls=Command)(learn.learn)
app.command(cls=Command)(predict.predict)
app.command("eval", cls=Command)(evaluate.evaluate)
app.command(cls=Command)(report.report)
app.command(cls=Command)(tune.tune)
app.command(cls=Command)(compact.compact)
app.command(cls=Command)(convert.convert)
app.command(cls=Command)(explain.explain)
app.command(cls=Command)(info.info)
app.add_typer(tree.tree_app, name="tree")
app.command(cls=Command)(serve.serve)
app.command(cls=Command)(demo.demo)
