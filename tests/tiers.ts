/**
 * The two tiers of the tests. `npm test` runs the fast one: what a change is likely to break, in about five minutes of
 * processor time. `npm run test:all` runs every file. A new file is in the fast tier, except end-to-end files, and files
 * of the simulation that draw their seeds: these have to be named here.
 */

/** Which files a run takes: those of the fast tier, all others, or both. */
export type Tier = "fast" | "rest" | "all";

/** The end-to-end files of the fast tier: what a person meets on a first day with Kite. */
const firstDay = [
  "checks",
  "commands",
  "commands-protocol",
  "errors",
  "files-entered",
  "guard",
  "hook-client",
  "hook-replay",
  "install",
  "mcp",
  "messages",
  "mistakes",
  "off",
  "stop-restart",
  "tasks",
  "tour",
  "wire",
  "wire-events",
  "wire-lock",
].map(name => `tests/end-to-end/${name}.test.ts`);

/** The simulation's files of the fast tier: fixed seeds, planted bugs that their known seeds find, the oracle itself. */
const simulation = [
  "few-seeds",
  "found-seeds",
  "hooks/hooks",
  "passed-on",
  "planted-dozen",
  "planted-source",
  "told-notes",
  "touched",
].map(name => `tests/simulation/${name}.test.ts`);

/** Unit tests of more than two seconds whose subject has a suite of its own in the whole, or is the compiler's anyway. */
const slowUnits: readonly string[] = ["tests/unit/slice-holes.test.ts"];

/** Files with a database server of their own, which the first of them may have to install. */
const servers = [
  ...["admission", "away", "histories", "planted-even", "planted-odd", "reach", "went-back"].map(
    name => `tests/store/rows/${name}.test.ts`,
  ),
];

/** The files that this page names. */
export const named: readonly string[] = [...firstDay, ...simulation, ...slowUnits, ...servers];

/** Whether a test file, by its path from the root, is in the tier. */
export function isInTier(path: string, tier: Tier): boolean {
  return tier === "all" || isFast(path) === (tier === "fast");
}

function isFast(path: string): boolean {
  if (path.startsWith("tests/end-to-end/")) return firstDay.includes(path);
  if (path.startsWith("tests/simulation/")) return simulation.includes(path);
  return !slowUnits.includes(path) && !servers.includes(path);
}

/** Reads the tier from `KITE_TESTS`; a run that names none takes all, so that any file can be named. */
export function tierOf(text: string | undefined): Tier {
  if (text === undefined || text === "all") return "all";
  if (text === "fast" || text === "rest") return text;
  throw new Error(`KITE_TESTS is ${JSON.stringify(text)}: it has to be fast, rest or all`);
}
