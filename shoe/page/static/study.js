// One item a screen. Every answer is in the log before the next item shows: what is answered survives a crash, and two
// tabs of one rater go on together. The file to send back is that log.
import { answers, append, served, study, whenOthersAnswer } from "./study-log.js";

const data = await study();
const main = document.getElementById("main");
const LEVELS = ["not similar", "hardly", "somewhat", "very", "the same"];
let at = 0, training = 0, shown = 0, stage = "consent";

const nameOf = ([item, occasion]) => `${item}/${occasion}`;
const answered = () => new Map(answers().map((answer) => [nameOf([answer.item, answer.occasion]), answer.rating]));
const firstOpen = () => {
  const done = answered();
  const open = data.order.findIndex((question) => !done.has(nameOf(question)));
  return open < 0 ? data.order.length : open;
};

function element(name, attributes = {}, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...content);
  return made;
}

function card(words, ...senses) {
  const list = element("dl", {});
  senses.forEach((sense, i) => list.append(element("dt", {}, words[i]), element("dd", {}, data.glosses[sense])));
  return element("div", { class: "card" }, element("h2", {}, words.join(" ")), list);
}

function show(...content) {
  main.replaceChildren(...content);
  const heading = main.querySelector("h1");
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  scrollTo(0, 0);
  shown = Date.now();
}

// An empty line ends a paragraph, and a line a line.
function text(heading, said, label, next) {
  const paragraphs = said.trim().split(/\n\s*\n/).map((part) => {
    const [first, ...lines] = part.split("\n");
    return element("p", {}, first, ...lines.flatMap((line) => [element("br"), line]));
  });
  const button = element("button", { onclick: next }, label);
  show(element("h1", {}, heading), ...paragraphs, element("div", { class: "row" }, button));
}

function question(item, chosen, number, total, about) {
  const levels = LEVELS.map((word, level) =>
    element(
      "button",
      { onclick: () => rate(level), "aria-pressed": String(chosen === level) },
      element("b", {}, String(level)), element("small", {}, word),
    ),
  );
  show(
    element("progress", { max: total, value: number, "aria-label": "progress" }),
    element("h1", {}, "How similar are these two?"),
    element(
      "div", { class: "pair" },
      card(item.words_a, item.verb_a, item.object_a), card(item.words_b, item.verb_b, item.object_b),
    ),
    element("div", { class: "levels", role: "group", "aria-label": "similarity, 0 to 4" }, ...levels),
    element(
      "div", { class: "row" },
      element("button", { onclick: back, disabled: number === 0 }, "← back"), element("span", { class: "quiet" }, about),
    ),
  );
}

function draw() {
  if (stage === "consent") return text("Before you start", data.consent, "I agree, go on", () => go("instructions"));
  if (stage === "instructions") return text("How to rate", data.instructions, "Try it", () => go("training"));
  if (stage === "training" && training < data.training.length) {
    const about = `practice ${training + 1} of ${data.training.length}, not kept`;
    return question(data.training[training], null, training, data.training.length, about);
  }
  stage = "items";
  if (at >= data.order.length) return end();
  const asked = data.order[at];
  const chosen = answered().get(nameOf(asked)) ?? null;
  return question(data.items[asked[0]], chosen, at, data.order.length, `${at + 1} of ${data.order.length}`);
}

function end() {
  const content = JSON.stringify({ study: data.study, rater: data.rater, answers: answers() });
  const link = element("a", { download: `${data.rater}.json`, href: `data:application/json,${encodeURIComponent(content)}` });
  const open = data.order.length - answered().size;
  const left = served ? "The line below says whether all answers have arrived." : "Save the file, and send it to who invited you.";
  show(
    element("progress", { max: data.order.length, value: answered().size, "aria-label": "progress" }),
    element("h1", {}, "Done, thank you"),
    element("p", {}, open ? `${open} are still open.` : left),
    element(
      "div", { class: "row" },
      element("button", { onclick: back }, "← back"),
      element("button", { id: "save", onclick: () => link.click() }, `Save ${data.rater}.json`),
    ),
  );
}

function go(next) {
  stage = next;
  draw();
}

function rate(rating) {
  if (stage === "training") training += 1;
  else if (stage === "items" && at < data.order.length) {
    const [item, occasion] = data.order[at];
    try {
      append({ item, occasion, phase: "words", rating, shown });
    } catch {
      return unkept();
    }
    at += 1;
  } else return;
  draw();
}

function unkept() {
  show(element("h1", {}, "Answers cannot be kept"), element("p", {}, "The browser's storage is full, closed or damaged: allow it for this page, and load the page again."));
}

function back() {
  if (stage === "training") training = Math.max(0, training - 1);
  else at = Math.max(0, at - 1);
  draw();
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const asking = main.querySelector(".levels") !== null;
  if (asking && /^[0-4]$/.test(event.key)) rate(Number(event.key));
  else if (event.key === "ArrowLeft" && (stage === "training" || stage === "items")) back();
});
// Another tab or device of the same rater has answered: go on where it is.
whenOthersAnswer(() => {
  if (stage === "items") {
    at = firstOpen();
    draw();
  }
});

try {
  if (answers().length) {
    stage = "items";
    at = firstOpen();
  }
  draw();
} catch {
  unkept();
}
document.documentElement.dataset.ready = "";
