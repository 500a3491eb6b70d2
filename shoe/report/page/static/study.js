// Sequence of a study: consent, instructions, practice, then screens of questions. Every answer is logged before
// the next screen is shown, so answers survive a crash and all tabs agree.
import { element } from "./dom.js";
import { answers, append, served, study, whenOthersAnswer } from "./study-log.js";
import { pairScreen } from "./study-pairs.js";
import { exampleScreen, problemScreen } from "./study-problems.js";

const data = await study();
const main = document.getElementById("main");
const practice = data.problems ? data.examples : data.training;
const screenOf = data.problems ? problemScreen : pairScreen;
const AT_ONCE = data.problems ? 4 : 1;
const screens = Array.from({ length: Math.ceil(data.order.length / AT_ONCE) }, (_, number) =>
  data.order.slice(number * AT_ONCE, (number + 1) * AT_ONCE),
);
let at = 0, training = 0, shown = 0, stage = "consent", introduced = false, keys = {};

const nameOf = ([item, occasion, phase]) => `${item}/${occasion}/${phase}`;
const answered = () =>
  new Map(answers().map(({ item, occasion, phase, rating }) => [nameOf([item, occasion, phase]), rating]));
const phaseOf = (number) => screens[number]?.[0][2];
const firstOpen = () => {
  const done = answered();
  const open = screens.findIndex((questions) => questions.some((question) => !done.has(nameOf(question))));
  return open < 0 ? screens.length : open;
};
// After the first rating with a picture, ratings without picture cannot be changed.
const mayGoBack = () =>
  at > 0 && (at === screens.length || phaseOf(at - 1) === phaseOf(at) || !answers().some(({ phase }) => phase === phaseOf(at)));

function show(...content) {
  main.replaceChildren(...content);
  const heading = main.querySelector("h1");
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  scrollTo(0, 0);
  shown = Date.now();
}

// Show a text and a button: an empty line ends a paragraph, and line breaks are kept.
function text(heading, said, label, next) {
  const paragraphs = said.trim().split(/\n\s*\n/).map((part) => {
    const [first, ...lines] = part.split("\n");
    return element("p", {}, first, ...lines.flatMap((line) => [element("br"), line]));
  });
  const button = element("button", { onclick: next }, label);
  show(element("h1", {}, heading), ...paragraphs, element("div", { class: "row" }, button));
}

// Show a screen with a heading, content, its own keys, and elements next to the back button.
function screen(made, number, total, about, canGoBack) {
  keys = made.keys;
  show(
    element("progress", { max: total, value: number, "aria-label": "progress" }),
    element("h1", {}, made.heading),
    ...made.content,
    element(
      "div", { class: "row" },
      element("button", { onclick: back, disabled: !canGoBack }, "← back"),
      element("span", { class: "quiet" }, about),
      made.next ?? null,
    ),
  );
}

function draw() {
  keys = {};
  if (stage === "consent") return text("Before you start", data.consent, "I agree, go on", () => go("instructions"));
  if (stage === "instructions") {
    const label = !practice.length ? "Start" : data.problems ? "See an example" : "Try it";
    return text("How it goes", data.instructions, label, () => go("training"));
  }
  if (stage === "training" && training < practice.length) {
    const about = `practice ${training + 1} of ${practice.length}, not kept`;
    const next = () => {
      training += 1;
      draw();
    };
    const item = practice[training];
    const made = data.problems ? exampleScreen(data, item, next) : pairScreen(data, [item], { chosen: () => null, rate: next });
    return screen(made, training, practice.length, about, training > 0);
  }
  stage = "items";
  if (at >= screens.length) return end();
  if (phaseOf(at) === "picture" && !introduced) {
    return text("Now with a picture", data.with_picture, "Go on", () => {
      introduced = true;
      draw();
    });
  }
  const done = answered();
  const chosen = (question) => done.get(nameOf(question)) ?? null;
  const made = screenOf(data, screens[at], { chosen, rate, next: forward });
  screen(made, at, screens.length, `${at + 1} of ${screens.length}`, mayGoBack());
}

function end() {
  const content = JSON.stringify({ study: data.study, rater: data.rater, answers: answers() });
  const link = element("a", { download: `${data.rater}.json`, href: `data:application/json,${encodeURIComponent(content)}` });
  const open = data.order.length - answered().size;
  const left = served ? "You can close this page as soon as the line below says that all answers have arrived." : "Save the file, and send it to who invited you.";
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

// Store an answer; returns whether it was stored.
function rate([item, occasion, phase], rating) {
  try {
    append({ item, occasion, phase, rating, shown });
  } catch {
    unkept();
    return false;
  }
  shown = Date.now();
  return true;
}

function forward() {
  at += 1;
  draw();
}

function unkept() {
  keys = {};
  show(element("h1", {}, "Answers cannot be saved"), element("p", {}, "The browser's storage is full, closed or damaged: allow it for this page, and load the page again."));
}

function back() {
  if (stage === "training") training = Math.max(0, training - 1);
  else if (mayGoBack()) at -= 1;
  draw();
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (event.key === "Enter" && event.target instanceof HTMLButtonElement) return;
  if (act) {
    event.preventDefault();
    act();
  } else if (event.key === "ArrowLeft" && (stage === "training" || stage === "items")) back();
});
// If another tab or device of the same rater has answered, continue there.
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
