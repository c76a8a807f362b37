// Runs test files and keeps a report of the run.
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startVitest } from "vitest/node";
import { fileOf, processorMs, report, slowest, sumOf, table, whatFailed } from "./report.mjs";
import { excuses, unsteadyBefore } from "./unsteady.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * Runs the test files of a Vitest configuration, all or those that `filters` name. Prints where the time went, keeps
 * the report in `.reports/`, and ends with "N passed, N failed". With `again` a file that failed runs once more by
 * itself, within the bounds of `excuses`; if it passes then, it counts as passed and is printed as unsteady. Returns
 * whether all passed.
 */
export async function runTests({ name, config, filters, again }) {
  const folder = report(root, name);
  process.env.KITE_TEST_REPORT = folder;
  const began = performance.now();
  const before = processorMs();
  const { files, errors } = await run(folder, "vitest", { config }, filters);
  const wallMs = performance.now() - began;
  const spentMs = processorMs() - before;

  const failed = files.filter(file => !file.isOk);
  const verdict = again ? excuses(failed, unsteadyBefore(root, folder)) : { again: [], refused: [] };
  const unsteady = [];
  for (const [i, file] of verdict.again.entries()) {
    console.log(`\n== ${file.path} failed; it runs once more by itself`);
    const second = await run(folder, `again-${i + 1}`, { config, maxWorkers: 1 }, [join(root, file.path)]);
    const [result] = second.files;
    if (second.files.length !== 1 || second.errors.length > 0 || !result.isOk) continue;
    unsteady.push({ path: file.path, failures: file.failures });
    files[files.indexOf(file)] = result;
  }

  for (const line of [...table(files), ...slowest(files, 20)]) console.log(line);
  for (const reason of verdict.refused) console.log(`not run again: ${reason}`);
  for (const file of unsteady) for (const line of whatFailed("unsteady", file)) console.log(line);
  for (const file of files) for (const line of whatFailed("failed", file)) console.log(line);
  const seconds = ms => (ms / 1000).toFixed(1);
  console.log(
    `\n${name}: ${files.length} files, ${seconds(wallMs)} s of wall time, ${seconds(spentMs)} s of processor time, ` +
      `load ${loadavg()[0].toFixed(1)}; report: ${folder}`,
  );
  const summary = {
    name,
    at: new Date().toISOString(),
    wallMs,
    processorMs: spentMs,
    unsteady,
    errors,
    files,
  };
  writeFileSync(join(folder, "summary.json"), `${JSON.stringify(summary, null, 2)}\n`);

  // An error outside of any test fails the run, and so does a run without tests.
  for (const error of errors)
    for (const line of whatFailed("failed", {
      path: "outside of any test",
      failures: [{ test: "an error", error }],
    }))
      console.log(line);
  if (files.length === 0) console.log("failed: no test file was run");
  const passed = sumOf(files, "passed");
  const notPassed = sumOf(files, "failed") + errors.length + (files.length === 0 ? 1 : 0);
  console.log(`${passed} passed, ${notPassed} failed`);
  return notPassed === 0;
}

/** Runs files and returns what came of each, and the errors outside of any. */
async function run(folder, name, options, filters) {
  const vitest = await startVitest("test", filters, {
    watch: false,
    reporters: ["default", "json"],
    outputFile: { json: join(folder, `${name}.json`) },
    ...options,
  });
  const files = vitest.state.getTestModules().map(module => fileOf(module));
  const errors = vitest.state.getUnhandledErrors().map(error => String(error?.stack ?? error));
  await vitest.close();
  return { files, errors };
}
