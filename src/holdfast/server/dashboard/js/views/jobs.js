// Jobs: the background work, what gave up, and running it again.

import { get, part, post } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { capital, dateTime, money, named, t } from "../i18n.js";
import { live } from "../live.js";
import { go } from "../router.js";
import { attempt, button, chip, empty, endless, head, segmented, toast, when } from "../ui.js";

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
  const count = async () => {
    let queue = {};
    try {
      ({ queue } = await get("/v1/stats", {}, signal));
    } catch {
      /* the list will tell */
    }
    if (!signal.aborted)
      replace(
        tabs,
        segmented(
          t("jobs.state"),
          STATES.map((each) => [
            each,
            each ? `${capital(named("job", each))}${queue[each] ? ` ${queue[each]}` : ""}` : t("jobs.open"),
          ]),
          state,
          (value) => go(value ? `#/jobs?state=${value}` : "#/jobs"),
        ),
      );
  };
  replace(
    tabs,
    segmented(
      t("jobs.state"),
      STATES.map((each) => [each, each ? capital(named("job", each)) : t("jobs.open")]),
      state,
      (value) => go(value ? `#/jobs?state=${value}` : "#/jobs"),
    ),
  );
  fill();
  count();
  let wait = 0;
  live.addEventListener(
    "change",
    () => {
      clearTimeout(wait);
      wait = setTimeout(() => {
        if (signal.aborted || box.querySelector("details[open]") || window.scrollY > 200) return;
        fill();
        count();
      }, 400);
    },
    { signal },
  );
  const node = h(
    "div.page",
    {},
    head(
      t("nav.jobs"),
      t("jobs.lead"),
      button(t("jobs.work"), (event) => work(event.currentTarget, fill), {
        name: "again",
        dataset: { action: "work" },
      }),
    ),
    tabs,
    box,
  );
  return { node };
}

async function work(control, fill) {
  await attempt(control, async () => {
    const { steps } = await post("/v1/work");
    toast(t("jobs.worked", { n: steps }));
    fill();
  });
}

function row(job, fill) {
  const again = ["dead", "done"].includes(job.state);
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
      again &&
        button(
          t("jobs.rerun"),
          (event) =>
            attempt(event.currentTarget, async () => {
              await post(`/v1/jobs/${part(job.id)}/rerun`);
              toast(t("jobs.rerunDone"));
              fill();
            }),
          { kind: job.state === "dead" ? "small primary" : "small quiet", name: "again", dataset: { action: "rerun" } },
        ),
    ),
    job.error && h("p.job-error", {}, icon("warn", 16), h("span", {}, job.error)),
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

function nothing(state) {
  if (state === "dead") return empty(t("jobs.noDead.title"), t("jobs.noDead.body"), { name: "check" });
  return empty(t("jobs.empty.title"), t("jobs.empty.body"), { name: "jobs" });
}
