// `node tests/run.mjs fast|rest|all [--again] [FILE...]`: a tier of the tests, or the files that are named.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runTests } from "./runner.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { again: { type: "boolean", default: false } },
});
const [tier = "all", ...filters] = positionals;
if (!["fast", "rest", "all"].includes(tier)) {
  console.error(`usage: node tests/run.mjs fast|rest|all [--again] [FILE...]; "${tier}" is no tier`);
  process.exit(2);
}
// A file that somebody names is run, whichever tier it is in.
const name = filters.length > 0 ? "all" : tier;
process.env.KITE_TESTS = name;
const config = fileURLToPath(new URL("vitest.config.ts", import.meta.url));
process.exitCode = (await runTests({ name, config, filters, again: values.again })) ? 0 : 1;
