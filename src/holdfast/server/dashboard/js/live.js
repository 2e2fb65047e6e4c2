// Listens to the server's change events while the page is visible.

import { events } from "./api.js";

export const live = new EventTarget();
export let connected = false;
let stop = null;

/** False while the server does not answer. */
export let answering = true;
const WATCH_MS = 3000;
const QUIET_MS = 3000;
let heard = Date.now();
let isFirst = true;

function setAnswering(state) {
  if (state) heard = Date.now();
  if (answering === state) return;
  answering = state;
  live.dispatchEvent(new Event("answering"));
  if (state) {
    connect();
    live.dispatchEvent(new CustomEvent("change", { detail: {} }));
  }
}

/** Ask whether the server answers. A stopped process accepts connections and then stays silent, so a time limit decides. */
async function watch() {
  if (document.hidden || (answering && connected && Date.now() - heard < QUIET_MS)) return;
  try {
    await fetch(new URL("../icon.svg", import.meta.url), {
      method: "HEAD",
      cache: "no-store",
      signal: AbortSignal.timeout(QUIET_MS),
    });
    setAnswering(true);
  } catch {
    if (!document.hidden) setAnswering(false);
  }
}

function tell(state) {
  if (connected === state) return;
  connected = state;
  live.dispatchEvent(new Event("connection"));
}

async function listen(signal) {
  for (let wait = 1000; !signal.aborted; wait = Math.min(wait * 2, 30000)) {
    try {
      const stream = events("GET", "/v1/events", { signal });
      tell(true);
      for await (const { event, data } of stream) {
        wait = 1000;
        heard = Date.now();
        if (event !== "change") continue;
        live.dispatchEvent(new CustomEvent("counts", { detail: data }));
        // The first event only says what is there. Views fetch that themselves.
        if (!isFirst) live.dispatchEvent(new CustomEvent("change", { detail: data }));
        isFirst = false;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401 || error.status === 403) {
        tell(false);
        return;
      }
    }
    tell(false);
    watch();
    await new Promise((done) => {
      setTimeout(done, wait);
    });
  }
}

/** Connect, or reconnect with a new key. */
export function connect() {
  stop?.abort();
  if (document.hidden) return;
  stop = new AbortController();
  listen(stop.signal);
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    stop?.abort();
    tell(false);
  } else {
    connect();
    live.dispatchEvent(new CustomEvent("change", { detail: {} }));
  }
});

setInterval(watch, WATCH_MS);
