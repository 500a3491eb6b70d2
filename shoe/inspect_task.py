"""The task ``shoe/hico_det`` of inspect_ai, which is registered by the entry point of the package."""

from math import nan
from pathlib import Path
from statistics import fmean

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState, generate

from shoe.frameworks import METRICS, cached_truth, detection_prompt, score_replies, task_images


@task
def hico_det(
    images: str, ground_truth: str, dataset: str = "hico-det", boxes: str = "thousand", prompt: str = ""
) -> Task:
    """Detect the human-object interactions of images, one sample per image.

    Args:
        images: folder of the images; images that are not in the annotation file ``ground_truth`` are ignored.
        boxes: box convention of the replies; the default is the convention of the default prompt.
        prompt: file with another prompt; by default, the prompt of ``shoe prompt``.
    """
    question = ContentText(text=Path(prompt).read_text("utf-8") if prompt else detection_prompt())
    samples = [
        Sample(id=path.name, input=[ChatMessageUser(content=[ContentImage(image=str(path)), question])])
        for path in task_images(images, cached_truth(ground_truth, dataset))
    ]
    return Task(
        dataset=MemoryDataset(samples, name=dataset),
        solver=generate(),
        scorer=interactions(ground_truth, dataset, boxes),
        metrics=[shoe_metrics(ground_truth, dataset, boxes)],
    )


@scorer(metrics=[])
def interactions(ground_truth: str, dataset: str, boxes: str) -> Scorer:
    """Return a scorer that computes the metrics of each image alone, over the classes of its ground truth."""

    async def score(state: TaskState, target: Target) -> Score:
        reply = state.output.completion
        values, problem = score_replies({str(state.sample_id): reply}, cached_truth(ground_truth, dataset), boxes)
        return Score(value=values, answer=reply, explanation=problem or None, metadata={"epoch": state.epoch})

    return score


@metric(scores="unreduced")
def shoe_metrics(ground_truth: str, dataset: str, boxes: str) -> Metric:
    """Return a metric that scores all images together; with several epochs, the mean over the epochs."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        epochs: dict[int, dict[str, str]] = {}
        for sample in scores:
            epoch = (sample.score.metadata or {}).get("epoch", 1)
            epochs.setdefault(epoch, {})[str(sample.sample_id)] = sample.score.answer or ""
        found = [score_replies(each, cached_truth(ground_truth, dataset), boxes)[0] for each in epochs.values()]
        columns = {name: [values[name] for values in found if name in values] for name in METRICS}
        return {name: fmean(column) if column else nan for name, column in columns.items()}

    return compute
