// Keeps what the server told of itself while the page is open, for the charts that show the last minutes.

import { get } from "./api.js";

const MOST = 240;
const APART = 5000;
const PLACE = "holdfast.samples";
export const samples = earlier();
export let latest = null;
let last = 0;

/** What was kept before the page was loaded again. */
function earlier() {
  try {
    return JSON.parse(sessionStorage.getItem(PLACE) ?? "[]").map((one) => ({ ...one, at: new Date(one.at) }));
  } catch {
    return [];
  }
}

/** Ask for the statistics, at most every few seconds. */
export async function record() {
  if (Date.now() - last < APART) return latest;
  last = Date.now();
  try {
    return keep(await get("/v1/stats"));
  } catch {
    return latest;
  }
}

/** Keep one answer. */
export function keep(stats) {
  latest = stats;
  samples.push({
    at: new Date(),
    p50: stats.recall_ms?.p50 ?? null,
    p95: stats.recall_ms?.p95 ?? null,
    lag: stats.digestion_lag_seconds ?? 0,
    queued: stats.queue?.queued ?? 0,
  });
  if (samples.length > MOST) samples.shift();
  try {
    sessionStorage.setItem(PLACE, JSON.stringify(samples));
  } catch {
    /* they only last as long as the page, then */
  }
  return stats;
}
