// The log of one rater's answers. Each is an entry of its own in the browser's storage, named by all that it says: it is
// there whole or not at all, tabs never write over one another, and no answer is there twice. A page that came by an
// invite link sends them, as often as it takes; the value of an entry says whether the service has it.
const SENT = "sent", MOST = 200, LONGEST_WAIT = 30000, LONGEST_LOAD = 600000;
const embedded = document.getElementById("data");
const link = location.hash.slice(1);
const status = document.getElementById("status");
let place = "", sending = false, failing = false, wait = 500, timer = 0, told = () => {};

// Whether answers go to a service by themselves.
export const served = embedded === null;

// What the page shows; one that is served asks for it until it comes, and for what was answered on other devices.
export async function study() {
  const { shown, ...own } = served ? await tried("v1/study") : { shown: JSON.parse(embedded.textContent) };
  const found = { ...shown, ...own };
  place = `shoe-study:${found.study}:${found.rater}:`;
  if (served) {
    const theirs = await tried("v1/study/answers");
    try {
      agree(theirs.answers);
    } catch {}  // who asks for the answers finds out, too, that the browser keeps nothing
    send();
  }
  return found;
}

// All answers, those of other tabs and devices included, the earliest first.
export function answers() {
  return entries().map(([name]) => JSON.parse(name)).sort((a, b) => a.answered - b.answered);
}

// Keep an answer before anything else is shown; throws where the browser does not.
export function append({ item, occasion, phase, rating, shown }) {
  // A clock that was put back changes no order, and no duration.
  const now = Date.now(), late = Math.max(0, (answers().at(-1)?.answered ?? 0) + 1 - now);
  localStorage.setItem(place + named({ item, occasion, phase, rating, shown: shown + late, answered: now + late }), "");
  send();
}

// What to do when answers come from another tab or device.
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

// Mark what the service has, and nothing else: one that was restored from a copy is sent again what it has lost.
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

// What goes as it should is not read out.
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
        say(`This link does not open a study: ${error.message}. Ask who invited you for another one.`);
        return new Promise(() => {});
      }
      say("No connection; trying again.");
      await new Promise(later);
    }
  }
}

// Send what the service does not have; asking with nothing to send finds out what came from another device.
async function send() {
  if (!served || !place) return;
  if (!failing) say("Sending.", false);
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
    say(entries().length ? "All answers have arrived." : "", false);
  } catch (error) {
    failing = true;
    const waiting = unsent().length;
    const kept = waiting === 1 ? "1 answer is kept in this browser" : `${waiting} answers are kept in this browser`;
    say(error.final ? `${kept}, and not taken: ${error.message}.` : `${kept}, and sent once there is a connection.`);
    if (!error.final) later(send);
  }
  sending = false;
}

addEventListener("online", send);
addEventListener("hashchange", () => location.reload());
document.addEventListener("visibilitychange", send);
addEventListener("storage", (event) => {
  if (place && event.key?.startsWith(place) && event.oldValue === null) told();
});
