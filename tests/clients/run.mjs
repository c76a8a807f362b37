// `npm run test:clients`: the scenes with the real Copilot and the real Gemini CLI. For each its last line says how it went,
// and is loud where there is no client to test with. `node tests/clients/run.mjs copilot`: those of one client.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  copilotVersion,
  geminiVersion,
  installCopilot,
  installGemini,
  NoClient,
} from "../claude/install-client.mjs";
import { runTests } from "../runner.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { again: { type: "boolean", default: false } },
});
const clients = [
  { name: "copilot", title: `Copilot ${copilotVersion}`, install: installCopilot },
  { name: "gemini", title: `Gemini CLI ${geminiVersion}`, install: installGemini },
];
const config = fileURLToPath(new URL("vitest.config.ts", import.meta.url));
for (const { name, title, install } of clients) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  try {
    process.env[`KITE_TEST_${name.toUpperCase()}`] = await install();
    console.log(`with ${title}`);
    const filters = [`tests/clients/${name}.client.ts`];
    if (!(await runTests({ name, config, filters, again: values.again }))) process.exitCode = 1;
  } catch (error) {
    if (!(error instanceof NoClient)) throw error;
    console.log(`\n${error.message}`);
    console.log(`SKIPPED: nothing was tested with the real ${title}`);
  }
}
