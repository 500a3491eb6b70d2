// The log of one rater's answers. Each answer is one entry in the browser's local storage, and the key of the entry is
// the complete answer: entries are complete, tabs never overwrite each other, and no answer is stored twice. A page
// opened through an invite link sends the answers until they arrive; the value of an entry tells if the service has it.
const SENT = "sent", MOST = 200, LONGEST_WAIT = 30000, LONGEST_LOAD = 600000, BETWEEN_CHECKS = 5000;
const embedded = document.getElementById("data");
const link = location.hash.slice(1);
const status = document.getElementById("status");
let place = "", sending = false, failing = false, wait = 500, timer = 0, told = () => {};

// Whether the page is served by a service, to which it sends answers automatically.
export const served = embedded === null;

// Load the data of the page. A served page requests them, and the answers from other devices, until it succeeds.
export async function study() {
  const { shown, ...own } = served ? await tried("v1/study") : { shown: JSON.parse(embedded.textContent) };
  const found = { ...shown, ...own };
  place = `shoe-study:${found.study}:${found.rater}:`;
  if (served) {
    const theirs = await tried("v1/study/answers");
    try {
      agree(theirs.answers);
    } catch {}  // if storage fails, answers() fails too, and its caller reports this
    send();
  }
  return found;
}

// All answers, including answers from other tabs and devices, the earliest first.
export function answers() {
  return entries().map(([name]) => JSON.parse(name)).sort((a, b) => a.answered - b.answered);
}

// Store an answer before the next question is shown; throws if the browser cannot store it.
export function append({ item, occasion, phase, rating, shown }) {
  // Keeps the order and duration of answers if the clock was set back.
  const now = Date.now(), late = Math.max(0, (answers().at(-1)?.answered ?? 0) + 1 - now);
  localStorage.setItem(place + named({ item, occasion, phase, rating, shown: shown + late, answered: now + late }), "");
  send();
}

// Set the callback for answers from another tab or device.
export function whenOthersAnswer(callback) {
  told = callback;
}

const named = ({ item, occasion, phase, rating, shown, answered }) =>
  JSON.stringify({ item, occasion, phase, rating, shown, answered });

function entries() {
  const names = Array.from({ length: localStorage.length }, (_, number) => localStorage.key(number));
  return names
    .filter((name) => name.startsWith(place))
    .map((name) => [name.slice(place.length), localStorage.getItem(name)]);
}

const unsent = () => entries().filter(([, mark]) => mark !== SENT).map(([name]) => name);

// Mark exactly the answers that the service has, so that a service restored from a backup gets lost answers again.
function agree(theirs) {
  const known = new Set(theirs.map(named)), ours = new Map(entries());
  for (const name of new Set([...known, ...ours.keys()])) {
    const mark = known.has(name) ? SENT : "";
    if (ours.get(name) !== mark) localStorage.setItem(place + name, mark);
  }
  return [...known].some((name) => !ours.has(name));
}

async function call(path, sent) {
  const headers = { Authorization: `Bearer ${link}`, ...(sent && { "Content-Type": "application/json" }) };
  const body = sent && JSON.stringify(sent), signal = AbortSignal.timeout(sent ? LONGEST_WAIT : LONGEST_LOAD);
  const answer = await fetch(path, { method: sent ? "POST" : "GET", headers, body, signal });
  if (answer.ok) return answer.json();
  const failure = new Error((await answer.json()).error);
  failure.final = answer.status >= 400 && answer.status < 500 && ![408, 429].includes(answer.status);
  throw failure;
}

// Show a status; screen readers announce it only if `aloud`, which is false for normal operation.
function say(text, aloud = true) {
  status.ariaLive = aloud ? "polite" : "off";
  status.textContent = text;
}

function later(what) {
  clearTimeout(timer);
  timer = setTimeout(what, wait);
  wait = Math.min(2 * wait, LONGEST_WAIT);
}

async function tried(path) {
  for (;;) {
    try {
      return await call(path);
    } catch (error) {
      if (error.final) {
        say(`This link does not open a study: ${error.message}. Ask the person who invited you for a new link.`);
        return new Promise(() => {});
      }
      say("No connection; trying again.");
      await new Promise(later);
    }
  }
}

// Send the answers that the service does not have; an empty request shows whether other devices sent answers.
async function send() {
  if (!served || !place) return;
  if (!failing && unsent().length) say("Sending.", false);
  if (sending) return;
  sending = true;
  try {
    let open = unsent();
    do {
      const some = open.slice(0, MOST);
      const { kept } = await call("v1/study/answers", { answers: some.map((name) => JSON.parse(name)) });
      for (const name of some) localStorage.setItem(place + name, SENT);
      open = unsent();
      if (kept !== entries().length - open.length && agree((await call("v1/study/answers")).answers)) told();
      open = unsent();
    } while (open.length);
    wait = 500;
    failing = false;
    document.documentElement.toggleAttribute("data-arrived", true);
    say(entries().length ? "All answers have arrived." : "", false);
  } catch (error) {
    failing = true;
    document.documentElement.toggleAttribute("data-arrived", false);
    const waiting = unsent().length;
    const kept = waiting === 1 ? "1 answer is stored in this browser" : `${waiting} answers are stored in this browser`;
    say(error.final ? `${kept}, but the service refused: ${error.message}.` : `${kept}, and will be sent when there is a connection.`);
    if (!error.final) later(send);
  }
  sending = false;
}

addEventListener("online", send);
addEventListener("hashchange", () => location.reload());
document.addEventListener("visibilitychange", send);
// A visible tab finds out that another device has answered, so that it does not ask the same question again.
setInterval(() => document.visibilityState === "visible" && !failing && send(), BETWEEN_CHECKS);
addEventListener("storage", (event) => {
  if (place && event.key?.startsWith(place) && event.oldValue === null) told();
});
