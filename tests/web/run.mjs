// `npm run test:web`: the page in a real browser. The last line says how it went, and is loud where there is no browser.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runTests } from "../runner.mjs";
import { installBrowser, NoBrowser } from "./install-browser.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { again: { type: "boolean", default: false } },
});
const config = fileURLToPath(new URL("vitest.config.ts", import.meta.url));
const filters = positionals.map(name => `tests/web/${name}.web.ts`);
try {
  const { program, version } = await installBrowser();
  process.env.KITE_TEST_BROWSER = program;
  console.log(`with ${version}`);
  process.exitCode = (await runTests({ name: "web", config, filters, again: values.again })) ? 0 : 1;
} catch (error) {
  if (!(error instanceof NoBrowser)) throw error;
  console.log(`\n${error.message}`);
  console.log("SKIPPED: the page was tested in no browser");
}
