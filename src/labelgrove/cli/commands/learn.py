"""``labelgrove learn``: update an existing model with more examples."""

from __future__ import annotations

import typer

from labelgrove._errors import ModelStateError, ParameterError
from labelgrove.cli import _options
from labelgrove.cli._checkpoints import Checkpoints
from labelgrove.cli._learning import (
    finish_learning,
    learn_from,
    new_record,
    report_learning,
    write_record,
)
from labelgrove.cli._models import algorithm_of, check_can_write, estimator_of, labelled, load_model
from labelgrove.cli._remote import is_address, learn_there
from labelgrove.models import OnlinePLTClassifier, PLTClassifier, TextClassifier
from labelgrove.vocabulary import Vocabulary


@_options.gathered
def learn(
    context: typer.Context,
    model_file: _options.ModelArgument,
    data: _options.DataArgument,
    output: _options.NewModelOption = None,
    jobs: _options.JobsOption = 1,
    reading: _options.Reading = _options.AS_FOUND,
    vocabulary: Vocabulary | None = None,
    limit: _options.LimitOption = None,
    for_prediction: _options.ForPredictionOption = False,
    progressive: _options.ProgressiveOption = None,
    checkpoint: _options.CheckpointOption = _options.CHECKPOINT,
    json: _options.JsonOption = False,
) -> None:
    """Update MODEL with the examples of DATA, which may bring new labels.

    The result is the same as if the model had learnt everything in one run. MODEL is replaced
    only once the new file is complete. A model of the batch algorithm plt becomes an online-plt
    model with the same tree and weights (best after --set online_ready=true). Ctrl-C ends learning
    early and writes the model learnt so far. After a crash or a kill, the same command resumes
    from its last checkpoint. MODEL may also be a project of a service, such as
    http://localhost:8787#tickets.
    """
    if is_address(model_file):
        others = (output, progressive, vocabulary)
        if for_prediction or any(one is not None for one in others):
            raise ParameterError(
                f"{model_file}: a service stores its own model; expected none of -o, "
                "--for-prediction, --progressive and --vocabulary"
            )
        learn_there(model_file, data, reading, limit, as_json=json)
        return
    target = model_file if output is None else output
    if for_prediction and output is None:
        raise ParameterError(
            "--for-prediction: expected -o as well, since replacing MODEL would end all learning"
        )
    checkpoints = Checkpoints(target, context.params, checkpoint)
    with checkpoints as kept:  # no other process may write the model from here on
        model = load_model(model_file, jobs=jobs, naming=_options.Naming(vocabulary))
        check_can_write(target)
        batch = estimator_of(model)
        if isinstance(batch, PLTClassifier):
            online = OnlinePLTClassifier.from_batch(batch, n_jobs=batch.n_jobs)
            model = model.with_classifier(online) if isinstance(model, TextClassifier) else online
        if not hasattr(model, "partial_fit"):
            raise ModelStateError(
                f"{model_file}: a model of {algorithm_of(model)} learns from all its examples at "
                "once and cannot be updated; train an online-plt model, or train this one again"
            )
        known = model.classes_.tolist()
        record = new_record(progressive, known)
        with labelled(model, data, reading, limit, to_learn=True) as source:
            learning = learn_from(model, source, checkpoints=kept, record=record)
        finish_learning(learning, target, kept, for_prediction=for_prediction)
        write_record(progressive, learning, target, data)
        report_learning(learning, target, source.columns, known_before=set(known), as_json=json)
