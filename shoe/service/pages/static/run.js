// Live progress of a run: state, stage and log; the page is reloaded when results are available.
const live = document.getElementById("live");
const said = (name) => document.querySelector(`[data-said="${name}"]`);

function show(run) {
  if (!said("state")) return;
  said("state").textContent = run.state;
  said("position").textContent = run.position ? `, number ${run.position} in the queue` : "";
  const left = run.progress > 0.1 ? ((Date.now() / 1000 - run.started) * (1 - run.progress)) / run.progress : 0;
  const estimate = left > 5 ? `, about ${5 * Math.ceil(left / 5)} s left` : "";
  said("stage").textContent = run.stage ? `: ${run.stage}${estimate}` : "";
  said("reason").textContent = run.reason ? ` (${run.reason})` : "";
  const bar = document.querySelector("main progress");
  if (run.progress !== undefined) bar.value = run.progress;
  else bar.removeAttribute("value");
}

if (live) {
  const events = new EventSource(live.dataset.events), log = said("log");
  const again = () => { events.close(); location.reload(); };
  let first = true;
  events.addEventListener("run", ({ data }) => {
    const run = JSON.parse(data);
    const ended = !["queued", "running"].includes(run.state);
    if (ended && `${run.state} ${run.further.diagnose ?? ""} ${run.further.page ?? ""}` !== live.dataset.shown) again();
    else show(run);
  });
  events.addEventListener("log", ({ data }) => {
    if (!log) return;
    if (first) log.textContent = ""; // the stream repeats the log from its first line
    first = false;
    log.append(`${JSON.parse(data).line}\n`);
    log.scrollTop = log.scrollHeight;
  });
  events.addEventListener("end", again);
}
