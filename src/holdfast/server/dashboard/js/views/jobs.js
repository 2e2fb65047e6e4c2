// Jobs: background work by state, with errors and a button to rerun.

import { get, part, post } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { capital, dateTime, money, named, t } from "../i18n.js";
import { live } from "../live.js";
import { go } from "../router.js";
import { attempt, button, chip, empty, endless, head, original, segmented, toast, when } from "../ui.js";

const STATES = ["", "queued", "running", "dead", "done"];
const OPEN = ["queued", "running", "dead"];

export function view(route, signal) {
  const state = STATES.includes(route.query.state) ? route.query.state : "";
  const tabs = h("div.tabs-line");
  const box = h("div");
  let stop = null;
  const fill = () => {
    stop?.abort();
    stop = new AbortController();
    signal.addEventListener("abort", () => stop.abort());
    const list = endless(
      (offset) => get("/v1/jobs", { state: state || OPEN, limit: 50, offset }, stop.signal),
      (job) => row(job, fill),
      { signal: stop.signal, whenEmpty: () => nothing(state) },
    );
    replace(box, list);
  };
  replace(tabs, stateTabs(state));
  fill();
  count(tabs, state, signal);
  let wait = 0;
  const renew = () => {
    if (signal.aborted || box.querySelector("details[open]") || window.scrollY > 200) return;
    fill();
    count(tabs, state, signal);
  };
  const changed = () => {
    clearTimeout(wait);
    wait = setTimeout(renew, 400);
  };
  live.addEventListener("change", changed, { signal });
  const run = button(t("jobs.work"), (event) => work(event.currentTarget, fill), {
    name: "again",
    dataset: { action: "work" },
  });
  return { node: h("div.page", {}, head(t("nav.jobs"), t("jobs.lead"), run), tabs, box) };
}

function stateTabs(state, queue = {}) {
  const label = (each) => `${capital(named("job", each))}${queue[each] ? ` ${queue[each]}` : ""}`;
  return segmented(
    t("jobs.state"),
    STATES.map((each) => [each, each ? label(each) : t("jobs.open")]),
    state,
    (value) => go(value ? `#/jobs?state=${value}` : "#/jobs"),
  );
}

/** Draw the tabs with the number of jobs in each state. */
async function count(tabs, state, signal) {
  let queue = {};
  try {
    ({ queue } = await get("/v1/stats", {}, signal));
  } catch {
    /* the list shows the error */
  }
  if (!signal.aborted) replace(tabs, stateTabs(state, queue));
}

async function work(control, fill) {
  await attempt(control, async () => {
    const { steps } = await post("/v1/work");
    toast(t("jobs.worked", { n: steps }));
    fill();
  });
}

function row(job, fill) {
  return h(
    "div.row.job",
    { class: `job-${job.state}` },
    h(
      "div.job-head",
      {},
      h("b", {}, named("work", job.kind)),
      chip(named("job", job.state), { class: `state-${job.state}` }),
      job.attempt > 1 && h("span.quiet", {}, t("jobs.attempts", { n: job.attempt })),
      job.cost > 0 && h("span.quiet", {}, money(job.cost)),
      when(job.finished_at ?? job.created_at),
      ["dead", "done"].includes(job.state) && rerunButton(job, fill),
    ),
    job.error && h("p.job-error", {}, icon("warn", 16), original(job.error)),
    h(
      "details",
      {},
      h("summary", {}, t("jobs.details")),
      h(
        "dl.facts",
        {},
        [
          ["id", h("code", {}, job.id)],
          ["created", dateTime(job.created_at)],
          ["notBefore", job.not_before && dateTime(job.not_before)],
          ["finished", job.finished_at && dateTime(job.finished_at)],
          ["worker", job.worker],
          ["payload", h("code", {}, JSON.stringify(job.payload))],
        ]
          .filter(([, value]) => value)
          .map(([name, value]) => h("div", {}, h("dt", {}, t(`jobs.${name}`)), h("dd", {}, value))),
      ),
    ),
  );
}

function rerunButton(job, fill) {
  const rerun = async () => {
    await post(`/v1/jobs/${part(job.id)}/rerun`);
    toast(t("jobs.rerunDone"));
    fill();
  };
  const kind = job.state === "dead" ? "small primary" : "small quiet";
  return button(t("jobs.rerun"), (event) => attempt(event.currentTarget, rerun), {
    kind,
    name: "again",
    dataset: { action: "rerun" },
  });
}

function nothing(state) {
  if (state === "dead") return empty(t("jobs.noDead.title"), t("jobs.noDead.body"), { name: "check" });
  return empty(t("jobs.empty.title"), t("jobs.empty.body"), { name: "jobs" });
}
