// Submission form: hash the file, upload it, create a run, and open the page of the run.
import { hashOf, json, upload } from "./upload.js";

const byId = (id) => document.getElementById(id);
const form = byId("submit"), file = byId("file"), drop = byId("drop");

function chosen() {
  const one = file.files[0];
  if (!one) return;
  drop.querySelector("span").textContent = `${one.name}, ${one.size.toLocaleString("en")} bytes`;
  form.elements.name.placeholder = one.name;
}

/** A leaderboard determines ground truth, protocols, map and options: these fields are hidden and not sent.
 * The notice of the chosen leaderboard or ground truth is shown; if it takes no submission now, nothing can be sent. */
function board() {
  const chosen = form.elements.board?.value, of = chosen ? `board ${chosen}` : `truth ${form.elements.truth?.value}`;
  byId("measured").disabled = byId("measured").hidden = Boolean(chosen);
  if (byId("of-board")) byId("of-board").hidden = !chosen;
  for (const notice of form.querySelectorAll(".notice")) notice.hidden = notice.dataset.of !== of;
  byId("go").disabled = form.querySelector(".notice.closed:not([hidden])") !== null;
}

function say(text, share) {
  byId("sending").hidden = false;
  byId("sent").textContent = text;
  byId("bar").value = share;
}

if (form) {
  chosen(); // browsers keep the selected file after a reload
  board();
  form.elements.board?.addEventListener("change", board);
  form.elements.truth?.addEventListener("change", board);
  file.addEventListener("change", chosen);
  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    file.files = event.dataTransfer.files;
    chosen();
  });
  addEventListener("waiting", ({ detail }) => { byId("sent").textContent = `${detail}; retrying`; });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    byId("problem").hidden = true;
    byId("go").disabled = true;
    try {
      await score(file.files[0]);
    } catch (error) {
      byId("problem").textContent = error.message;
      byId("problem").hidden = false;
      byId("go").disabled = false;
    }
  });
}

async function score(one) {
  if (one.size === 0) throw new Error(`${one.name}: found an empty file, expected predictions`);
  const of = new FormData(form);
  const said = { prediction: "0".repeat(64), protocols: of.getAll("protocols") };
  said.options = (of.get("options") ?? "").split("\n").map((line) => line.trim()).filter(Boolean);
  for (const name of ["truth", "similarity", "boxes", "scores", "name", "visibility", "board"]) {
    if (of.get(name)) said[name] = of.get(name);
  }
  // Without a file, the server checks permission, quota and options, and finally responds 404: upload the file first.
  await json(form.dataset.runs, said, [404]);
  const hash = await hashOf(one, (share) => say(`reading ${one.name}: ${Math.round(100 * share)} %`, share));
  byId("hash").textContent = hash;
  await upload(one, hash, form.dataset, (share) => say(`uploading ${one.name}: ${Math.round(100 * share)} %`, share));
  say("creating the run", 1);
  const run = await json(form.dataset.runs, { ...said, prediction: hash });
  location.assign(form.dataset.page + run.id);
}
