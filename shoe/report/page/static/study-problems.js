// Two Bongard problems on a screen: on which side, A or B, does each query belong?
import { element } from "./dom.js";

/** The queries of a screen, grouped by problem. */
export function problemScreen(data, questions, { chosen, rate, next }) {
  const go = element("button", { onclick: next, disabled: true }, "Next →");
  const groups = questions.map((question, number) => asked(question, number));
  let current = 0;

  function asked(question, number) {
    const { queries } = data.problems[question[0] >> 1];
    const buttons = ["A", "B"].map((side) => element("button", { onclick: () => answer(number, side) }, side));
    const name = `query ${number % 2 + 1}`;
    const group = element(
      "div", { class: "query", role: "group", "aria-label": name, tabindex: -1 },
      image(data.pictures[queries[question[0] & 1]], name), element("div", { class: "choice" }, ...buttons),
    );
    return { group, buttons, question, rating: chosen(question) };
  }

  function mark() {
    for (const { buttons, rating } of groups) {
      buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(rating === 1 - place)));
    }
    groups.forEach(({ group }, number) => group.classList.toggle("current", number === current));
    go.disabled = groups.some(({ rating }) => rating === null);
  }

  function answer(number, side) {
    if (!rate(groups[number].question, side === "A" ? 1 : 0)) return;
    groups[number].rating = side === "A" ? 1 : 0;
    const open = groups.findIndex(({ rating }, place) => place > number && rating === null);
    const first = open < 0 ? groups.findIndex(({ rating }) => rating === null) : open;
    if (first < 0) {
      mark();
      go.focus();
    } else move(first);
  }

  function move(number) {
    const to = Math.min(Math.max(number, 0), groups.length - 1);
    const other = to >> 1 !== current >> 1;
    current = to;
    mark();
    groups[to].group.focus({ preventScroll: true });
    (other ? groups[to].group.closest("section") : groups[to].group).scrollIntoView({ block: other ? "start" : "nearest" });
  }

  const sections = [];
  for (let number = 0; number < groups.length; number += 2) {
    const { sides } = data.problems[groups[number].question[0] >> 1];
    const queries = groups.slice(number, number + 2).map(({ group }) => group);
    sections.push(problem(data, `Problem ${number / 2 + 1} of ${groups.length / 2}`, sides, queries));
  }
  mark();
  const keys = {
    a: () => answer(current, "A"), b: () => answer(current, "B"),
    ArrowDown: () => move(current + 1), ArrowUp: () => move(current - 1),
    Enter: () => go.click(),
  };
  return { heading: "On which side is each query?", content: sections, keys, next: go };
}

/** An example problem, shown with its answers. */
export function exampleScreen(data, { concept, sides, queries, shows }, next) {
  const solved = queries.map((name, number) => {
    const side = shows[number] ? "A" : "B";
    return element("div", { class: "query" }, image(data.pictures[name], `query ${number + 1}`), element("p", {}, `side ${side}`));
  });
  const go = element("button", { onclick: next }, "Next →");
  const keys = { Enter: next };
  return { heading: "An example", content: [problem(data, `Side A: ${concept.replaceAll("_", " ")}`, sides, solved)], keys, next: go };
}

function problem(data, title, sides, queries) {
  return element(
    "section", { class: "card problem" },
    element("h2", {}, title),
    ...sides.map((names, place) => six(names.map((name) => data.pictures[name]), "AB"[place])),
    element("div", { class: "queries" }, element("h3", {}, "Queries"), ...queries),
  );
}

function six(sources, side) {
  const pictures = sources.map((src, number) => image(src, `side ${side}, picture ${number + 1}`));
  return element("div", {}, element("h3", {}, `Side ${side}`), element("div", { class: "shots" }, ...pictures));
}

function image(src, alt) {
  return element("img", { alt, src });
}
