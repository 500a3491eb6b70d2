// One pair of interactions: a rating of similarity by words, and later, with a picture of the first, kept or changed.
import { drawing, element } from "./dom.js";

const LEVELS = ["not similar", "hardly", "somewhat", "very", "the same"];

/** Screen of a question or a practice item. */
export function pairScreen(data, [question], { chosen, rate, next }) {
  const kept = Array.isArray(question);
  const item = kept ? data.items[question[0]] : question;
  const first = kept && question[2] === "picture" ? chosen([question[0], 1, "words"]) : null;
  const now = kept ? chosen(question) : null;
  const answer = (rating) => {
    if (rate(question, rating)) next();
  };
  const levels = LEVELS.map((word, level) =>
    element(
      "button",
      { onclick: () => answer(level), "aria-pressed": String((now ?? first) === level) },
      element("b", {}, String(level)), element("small", {}, word),
    ),
  );
  const cards = element(
    "div", { class: "pair" },
    card(data, item.words_a, item.verb_a, item.object_a), card(data, item.words_b, item.verb_b, item.object_b),
  );
  const scale = element("div", { class: "levels", role: "group", "aria-label": "similarity, 0 to 4" }, ...levels);
  const keys = Object.fromEntries(LEVELS.map((_, level) => [String(level), () => answer(level)]));
  const bar = element("div", { class: "answer" }, scale);
  if (first === null) return { heading: "How similar are these two?", content: [cards, bar], keys };
  keys.Enter = keys.k = () => answer(first);
  const keep = element("button", { onclick: () => answer(first) }, `Keep ${first}`);
  bar.prepend(element("p", { class: "keep" }, `By words you said ${first}, ${LEVELS[first]}. `, keep));
  return { heading: "Keep or change?", content: [seen(data, item), cards, bar], keys };
}

function card(data, words, ...senses) {
  const list = element("dl", {});
  senses.forEach((sense, i) => list.append(element("dt", {}, words[i]), element("dd", {}, data.glosses[sense])));
  return element("div", { class: "card" }, element("h2", {}, words.join(" ")), list);
}

function seen({ pictures }, { picture: { file, size: [width, height], human, object }, words_a }) {
  const shown = drawing("image", { width, height, href: pictures[file] });
  const line = Math.max(width, height) / 160;
  const box = ([x1, y1, x2, y2], kind) =>
    ["rim", kind].map((name) =>
      drawing("rect", {
        x: x1, y: y1, width: x2 - x1, height: y2 - y1, class: name, "stroke-width": name === "rim" ? 2 * line : line,
        "stroke-dasharray": kind === "object" ? `${3 * line} ${2 * line}` : null,
      }),
    );
  const label = `a person and ${words_a[1]}: ${words_a.join(" ")}`;
  return element(
    "figure", { class: "seen" },
    drawing("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, shown, ...box(human, "human"), ...box(object, "object")),
    element(
      "figcaption", { class: "quiet" },
      element("b", { class: "human" }, "— person"), "  ", element("b", { class: "object" }, `┄ ${words_a[1]}`),
      ` of the first, ${words_a.join(" ")}`,
    ),
  );
}
