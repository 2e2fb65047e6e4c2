// Listens to the server's change events while the page is visible.

import { events } from "./api.js";

export const live = new EventTarget();
export let connected = false;
let stop = null;

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
        if (event === "change") live.dispatchEvent(new CustomEvent("change", { detail: data }));
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401 || error.status === 403) {
        tell(false);
        return;
      }
    }
    tell(false);
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
