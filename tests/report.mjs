// What a run of the tests leaves and prints: its folder, the table by part, the slowest files.
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Runs of each tier whose reports are kept, the present one included. */
export const reportsMax = 10;

/** Makes the folder of a run's report and returns its path; removes the oldest beyond `reportsMax` of the tier. */
export function report(at, tier) {
  const all = join(at, ".reports");
  const name = `${new Date().toISOString().replaceAll(/[:.]/g, "-")}-${tier}`;
  mkdirSync(join(all, name), { recursive: true });
  const ofTier = readdirSync(all).filter(one => one.endsWith(`-${tier}`));
  for (const old of ofTier.sort().slice(0, -reportsMax))
    rmSync(join(all, old), { recursive: true, force: true });
  return join(all, name);
}

/** Returns what came of a file: cases, times, and each failure with its output. */
export function fileOf(module) {
  const tests = [...module.children.allTests()];
  const states = tests.map(test => test.result().state);
  // No test is skipped here: one that neither passed nor failed was lost with its process.
  const failures = tests.flatMap(test => {
    const { state, errors } = test.result();
    if (state === "passed") return [];
    return [failure(test.fullName, errors ?? [{ message: `it did not end; its state is ${state}` }])];
  });
  if (module.errors().length > 0) failures.push(failure("outside of its tests", module.errors()));
  if (!module.ok() && failures.length === 0) failures.push(failure("in one of its hooks", []));
  const { collectDuration, setupDuration, prepareDuration, duration } = module.diagnostic();
  return {
    path: relative(root, module.moduleId),
    isOk: failures.length === 0,
    passed: states.filter(state => state === "passed").length,
    // A file that fails outside of its tests counts as one.
    failed: failures.length,
    wallMs: Math.round(collectDuration + setupDuration + prepareDuration + duration),
    testsMs: Math.round(duration),
    processorMs: Math.round(module.meta().processorMs ?? 0),
    failures,
  };
}

function failure(test, errors) {
  const text = errors.map(({ message, diff, stack }) => [message, diff, stack].filter(Boolean).join("\n"));
  return { test, error: text.join("\n\n") };
}

/** Returns the sum of a field. */
export function sumOf(files, field) {
  return files.reduce((sum, file) => sum + file[field], 0);
}

const seconds = ms => (ms / 1000).toFixed(1).padStart(9);

/** Returns the lines of a table by part of the tests: files, cases, wall and processor time. */
export function table(files) {
  const parts = Map.groupBy?.(files, partOf) ?? grouped(files);
  const rows = [...parts].sort(([, a], [, b]) => sumOf(b, "processorMs") - sumOf(a, "processorMs"));
  return [
    `\n${"part".padEnd(14)}${"files".padStart(6)}${"cases".padStart(7)}   wall, s   processor, s`,
    ...rows.map(
      ([part, of]) =>
        `${part.padEnd(14)}${String(of.length).padStart(6)}${String(sumOf(of, "passed") + sumOf(of, "failed")).padStart(7)}` +
        ` ${seconds(sumOf(of, "wallMs"))}      ${seconds(sumOf(of, "processorMs"))}`,
    ),
  ];
}

function grouped(files) {
  const parts = new Map();
  for (const file of files) parts.set(partOf(file), [...(parts.get(partOf(file)) ?? []), file]);
  return parts;
}

/** The folder below `tests`, and apart from it what is known to be long. */
function partOf({ path }) {
  if (/\/simulation\/planted/.test(path)) return "planted bugs";
  const [, folder, file] = path.split("/");
  return file === undefined ? "tidiness" : folder;
}

/** Returns the lines that name the files that took the most processor time. */
export function slowest(files, most) {
  const rows = [...files].sort((a, b) => b.processorMs - a.processorMs || b.wallMs - a.wallMs).slice(0, most);
  return [
    "\n  wall, s   processor, s  the slowest files",
    ...rows.map(
      ({ path, wallMs, processorMs: spent }) => `${seconds(wallMs)}      ${seconds(spent)}  ${path}`,
    ),
  ];
}

/** The longest text of an error that `whatFailed` gives, in characters; the report has it whole. */
export const errorMax = 1_200;

/**
 * Returns the lines that say what failed or was unsteady, the first of each such failure beginning with `word`. Each
 * further line begins with `|`, so that `.ci/run` can find all of them and say them once more at its end.
 */
export function whatFailed(word, { path, failures }) {
  return failures.flatMap(({ test, error }) => {
    const text = stripVTControlCharacters(error).slice(0, errorMax).trimEnd();
    return [`${word}: ${path}, ${test}`, ...text.split("\n").map(line => `|   ${line}`)];
  });
}

/**
 * Returns the processor time of this process and of the children that it waited for, in milliseconds. Linux tells of
 * children (`man proc_pid_stat`, fields 16 and 17, in ticks of 10 ms); elsewhere it is this process alone.
 */
export function processorMs() {
  const { user, system } = process.cpuUsage();
  if (process.platform !== "linux") return (user + system) / 1000;
  const text = readFileSync("/proc/self/stat", "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (user + system) / 1000 + (Number(fields[13]) + Number(fields[14])) * 10;
}
