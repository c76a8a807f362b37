// `npm run test:claude`: the scenarios with the real client. Its last line says how it went, and is loud where
// there is no client to test with.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runTests } from "../runner.mjs";
import { clientVersion, installClient, NoClient } from "./install-client.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { again: { type: "boolean", default: false } },
});
try {
  process.env.KITE_TEST_CLAUDE = await installClient();
  console.log(`with Claude Code ${clientVersion}`);
  const config = fileURLToPath(new URL("vitest.config.ts", import.meta.url));
  const hasPassed = await runTests({ name: "claude", config, filters: positionals, again: values.again });
  process.exitCode = hasPassed ? 0 : 1;
} catch (error) {
  if (!(error instanceof NoClient)) throw error;
  console.log(`\n${error.message}`);
  console.log(`SKIPPED: nothing was tested with the real client, Claude Code ${clientVersion} is not here`);
}
