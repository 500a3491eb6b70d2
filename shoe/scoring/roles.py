"""Agent AP and role AP, scored per person as in V-COCO's official script."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoe.benchmarks.base import Actions
from shoe.benchmarks.protocols import RoleOptions
from shoe.benchmarks.scoring_options import Ties
from shoe.benchmarks.signature import Signature
from shoe.core.arrays import Floats, Indices, Mask, first_of_each
from shoe.core.boxes import Overlap
from shoe.core.documents import Count, Document, Fraction
from shoe.core.roles import RoleTruth, Single
from shoe.scoring.entries import AveragingRule, Entries, mean_over
from shoe.scoring.matching.persons import PersonMatches
from shoe.scoring.matching.task import Task

_MORE, _FACTOR = 0.1, 2  # a far higher AP


class OfAction(Document, frozen=True):
    """Average precision of one action, or of one action with a role (V-COCO).

    Attributes:
        ap: average precision.
        ground_truths: number of annotated persons who do the action.
    """

    ap: Fraction
    ground_truths: Count


class ByPerson(Document, frozen=True, kw_only=True):
    """Metrics of one V-COCO protocol, which ranks predicted persons per action or role, with its signature.

    Attributes:
        signature: signature of these metrics.
        protocol: name of the protocol.
        map: mean average precision over the entries (actions, or actions with a role) that have ground truth.
        entries: number of entries in this mean.
        left_out: name of the entry that papers exclude from the mean.
        map_without_left_out: mean average precision over the same entries except ``left_out``.
        ranked_predictions: number of ranked predictions over all entries.
        actions: average precision by the name of the entry, for entries with ground truth.
    """

    signature: str
    protocol: str
    map: Fraction | None = None
    entries: Count
    left_out: str | None = None
    map_without_left_out: Fraction | None = None
    ranked_predictions: Count
    actions: dict[str, OfAction]


@dataclass(frozen=True, slots=True, eq=False)
class RoleResult:
    """Metrics of one V-COCO protocol, fractions 0..1; E entries: actions, or actions with a role."""

    options: RoleOptions
    names: tuple[str, ...]  # E names, like "hold" or "hold-obj"
    ap: Floats  # (E,) average precision; NaN if no annotated person does the action
    truths: Indices  # (E,) number of annotated persons who do the action, whether or not the role has a box
    map: float | None  # mean over the entries with ground truth; None without such an entry
    left_out: str  # name of the entry that ``map_without`` leaves out; "" for none
    map_without: float | None  # mean over the same entries except ``left_out``; equals ``map`` if ``left_out`` is ""
    # number of ranked predictions over all entries. Predictions on unknown images, on persons without annotation, or
    # with score NaN for the entry are not ranked.
    ranked: int

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.options.protocol}, {self.map}>"

    @property
    def in_mean(self) -> Mask:
        """(E,) whether each entry is in the mean ``map``: whether it has ground truth."""
        return ~np.isnan(self.ap)

    def signed(self, signature: Signature) -> ByPerson:
        """Return the metrics with a signature, in the form of ``shoe score --json``."""
        return ByPerson(
            signature=str(signature),
            protocol=self.options.protocol,
            map=self.map,
            entries=int(self.in_mean.sum()),
            left_out=self.left_out or None,
            map_without_left_out=self.map_without if self.left_out else None,
            ranked_predictions=self.ranked,
            actions={
                name: OfAction(ap, truths)
                for name, ap, truths in zip(self.names, self.ap.tolist(), self.truths.tolist(), strict=True)
                if truths
            },
        )


def role_scores(task: Task, protocols: Sequence[RoleOptions]) -> tuple[RoleResult, ...]:
    """Return one result per V-COCO protocol (protocols.md 4.3, 4.4), or () if the ground truth has no roles."""
    if not protocols or task.truth.roles is None:
        return ()
    found, results = person_matches(task, task.truth.roles, protocols), []
    for options in protocols:
        entries = role_entries(task, found[options.overlap], options)
        names, left_out = role_names(task.truth.benchmark.actions, options)
        truths, scores = entries.truths, entries.scores()
        mean, without = mean_over(scores.ap, scores.in_mean), scores.part_means(entries.parts)
        result = RoleResult(
            options=options,
            names=names,
            ap=np.where(scores.in_mean, scores.ap, np.nan),
            truths=truths,
            map=mean,
            left_out=left_out,
            map_without=next(iter(without.values())).map if without else mean,
            ranked=len(entries.score),
        )
        results.append(result)
    return tuple(results)


def exchanged_roles(task: Task, results: Sequence[RoleResult]) -> list[str]:
    """Return a warning if actions with two roles have a far higher role AP with their two roles exchanged, else []."""
    roles, actions = task.predictions.roles, task.truth.benchmark.actions
    first = next((result for result in results if result.options.scenario != "agent"), None)
    other = np.arange(len(actions.entries))
    two = [entry for entry, (action, _) in enumerate(actions.entries) if len(actions.all[action].roles) > 1]
    other[two] = np.array(two).reshape(-1, 2)[:, ::-1].ravel()
    if roles is None or first is None or not first.in_mean[two].any():
        return []
    exchanged = replace(roles, score=roles.score[:, other], role=roles.role[:, other])
    after = role_scores(Task(replace(task.predictions, roles=exchanged), task.truth), [first.options])[0]
    before, better = (float(np.mean(each.ap[two][each.in_mean[two]])) for each in (first, after))
    if not better >= max(before + _MORE, _FACTOR * before):
        return []
    names = ", ".join(dict.fromkeys(actions.names[actions.entries[entry][0]] for entry in two))
    return [
        f"roles: the mean AP of {names} would be {100 * better:.2f} instead of {100 * before:.2f} if their object "
        "(obj) and instrument (instr) were exchanged: does the file exchange them?"
    ]


def person_matches(task: Task, truth: RoleTruth, protocols: Iterable[RoleOptions]) -> dict[Overlap, PersonMatches]:
    """Return {box area formula: predicted persons matched with annotated persons} for all formulas of protocols."""
    return {each: PersonMatches.from_task(task, truth, each) for each in {options.overlap for options in protocols}}


def role_names(actions: Actions, options: RoleOptions) -> tuple[tuple[str, ...], str]:
    """Return the names of a protocol's entries, and the name of the entry that ``map_without`` omits ("" for none)."""
    return (actions.names, "") if options.scenario == "agent" else (actions.entry_names, actions.left_out)


def role_entries(task: Task, found: PersonMatches, options: RoleOptions) -> Entries:
    """Return the ranked predictions of a V-COCO protocol, with credit 1 or 0, per action, or per action and role.

    ``found`` are the predicted persons, matched with annotated persons by the protocol's box area formula.
    """
    actions = task.truth.benchmark.actions
    order = _official_order(found, task.truth.interactions.images)
    pairs = [(action, entry) for entry, (action, _) in enumerate(actions.entries)]
    if options.scenario == "agent":
        pairs = [(number, -1) for number in range(len(actions))]
    names, left_out = role_names(actions, options)
    does = found.truth.labels == 1
    listed = []
    for action, entry in pairs:
        score = found.predictions.agent[:, action] if entry < 0 else found.predictions.score[:, entry]
        ranked = order[~np.isnan(score[order])]
        credit = np.zeros(len(score))
        if does[:, action].any():
            credit[_true_positives(found, ranked, score, action, entry, options)] = 1.0
        listed.append((ranked, score[ranked].astype(np.float64), credit[ranked]))
    row, scores, credits_ = (np.concatenate(column) for column in zip(*listed, strict=True))
    person, category = np.nonzero(does[:, [action for action, _ in pairs]])
    image_of_person = np.repeat(np.arange(len(found.truth.offsets) - 1), np.diff(found.truth.offsets))
    return Entries(
        category=np.repeat(np.arange(len(pairs)), [len(ranked) for ranked, _, _ in listed]),
        image=found.image[row],
        score=scores,
        credit=credits_,
        truth_category=category,
        truth_image=image_of_person[person],
        counted=np.ones(len(pairs), bool),
        rare=np.zeros(len(pairs), bool),
        rule=role_rule(options),
        parts=role_parts(names, left_out),
    )


def role_rule(options: RoleOptions) -> AveragingRule:
    """Return the averaging rule of a V-COCO protocol; equal scores stay in the order of the official code."""
    return AveragingRule(options.ap, Ties.INPUT)


def role_parts(names: tuple[str, ...], left_out: str) -> dict[str, Mask]:
    """Return {"without-NAME": (E,) mask, False only for NAME}, where NAME is ``left_out``; {} if ``left_out`` is ""."""
    return {f"without-{left_out}": np.array([name != left_out for name in names], bool)} if left_out else {}


def _official_order(found: PersonMatches, images: tuple[str, ...]) -> Indices:
    # That script sorts twice with ``argsort()[::-1]``, which reverses ties: the predictions of each image, and then
    # those of all images in the order of their IDs. So ties within an image are back in the order of the file, and
    # those of several images come last image first. A stable sort by score of the rows returned here has the same ties.
    # Predictions that overlap a person without annotation more than any other person are left out.
    by_name = np.argsort(np.argsort(np.array(images, object), kind="stable"))
    known = np.flatnonzero(found.image >= 0)
    person = found.person[known]
    rows = known[(person < 0) | ~found.truth.ignored[person]] if len(found.truth.person) else known
    return rows[np.argsort(-by_name[found.image[rows]], kind="stable")]


def _true_positives(
    found: PersonMatches, rows: Indices, score: Single, action: int, entry: int, options: RoleOptions
) -> Indices:
    # The best correct row of each person with the action: of equal scores, the last. ``entry`` -1 ignores the role.
    near = rows[(found.person[rows] >= 0) & options.rule.is_reached(found.iou[rows].astype(np.float64))]
    near = near[found.truth.labels[found.person[near], action] == 1]
    if entry >= 0:
        near = near[found.role_fits(near, entry, options.rule, options.scenario)]
    person = found.person[near]
    best = np.lexsort((-near, -score[near], person))
    return np.asarray(near[best[first_of_each(person[best])]])
