// `npm run test:claude`: the scenarios with the real client. Its last line says how it went, and is loud where
// there is no client to test with.
import { fileURLToPath } from "node:url";
import { startVitest } from "vitest/node";
import { clientVersion, installClient, NoClient } from "./install-client.mjs";

try {
  process.env.KITE_TEST_CLAUDE = await installClient();
  process.exitCode = await run();
} catch (error) {
  if (!(error instanceof NoClient)) throw error;
  console.log(`\n${error.message}`);
  console.log(`SKIPPED: nothing was tested with the real client, Claude Code ${clientVersion} is not here`);
}

/** Runs the tests and says how many passed; the exit code. */
async function run() {
  const config = fileURLToPath(new URL("vitest.config.ts", import.meta.url));
  const vitest = await startVitest("test", process.argv.slice(2), { config, watch: false });
  const modules = vitest.state.getTestModules();
  const states = modules.flatMap(module => [...module.children.allTests()].map(test => test.result().state));
  const broken = modules.some(module => !module.ok()) || vitest.state.getUnhandledErrors().length > 0;
  await vitest.close();
  const passed = states.filter(state => state === "passed").length;
  const failed = states.length - passed;
  console.log(`\nwith Claude Code ${clientVersion}: ${passed} passed, ${failed} failed`);
  return passed > 0 && failed === 0 && !broken ? 0 : 1;
}
