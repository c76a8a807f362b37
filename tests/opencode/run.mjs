// `npm run test:opencode`: the scenes with the real OpenCode beside the real Claude Code. Its last line says how it went, and is
// loud where there are no clients to test with.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  clientVersion,
  installClient,
  installOpenCode,
  NoClient,
  opencodeVersion,
} from "../claude/install-client.mjs";
import { runTests } from "../runner.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { again: { type: "boolean", default: false } },
});
try {
  process.env.KITE_TEST_OPENCODE = await installOpenCode();
  process.env.KITE_TEST_CLAUDE = await installClient();
  console.log(`with OpenCode ${opencodeVersion} and Claude Code ${clientVersion}`);
  const config = fileURLToPath(new URL("vitest.config.ts", import.meta.url));
  const hasPassed = await runTests({ name: "opencode", config, filters: positionals, again: values.again });
  process.exitCode = hasPassed ? 0 : 1;
} catch (error) {
  if (!(error instanceof NoClient)) throw error;
  console.log(`\n${error.message}`);
  console.log(`SKIPPED: nothing was tested with the real OpenCode ${opencodeVersion}`);
}
