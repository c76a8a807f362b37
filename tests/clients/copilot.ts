/** The real Copilot. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { copilotHooks } from "../../hooks/install/copilot.ts";
import { chatCompletions } from "./chat-completions.ts";
import type { RealClient } from "./session.ts";

const program = process.env["KITE_TEST_COPILOT"] ?? "";

export const copilot: RealClient = {
  name: "copilot",
  wire: chatCompletions,
  deniedBy: "Denied by preToolUse hook: ",
  edit: (id, file, from, to) => ({ id, name: "edit", input: { path: file, old_str: from, new_str: to } }),
  line: (id, command) => ({ id, name: "bash", input: { command, description: "a command" } }),
  prepare: (home, modelUrl, { hookMs }) => {
    const folder = join(home, ".copilot", "hooks");
    mkdirSync(folder, { recursive: true });
    const file = copilotHooks(null);
    const before = file.hooks["PreToolUse"]?.map(entry => ({
      ...entry,
      ...(hookMs === undefined ? {} : { timeoutSec: hookMs / 1000 }),
    }));
    const text = JSON.stringify({ ...file, hooks: { ...file.hooks, PreToolUse: before } });
    writeFileSync(join(folder, "kite.json"), text);
    // What the program unpacks takes a while, and was unpacked beside it.
    mkdirSync(join(home, ".cache"), { recursive: true });
    const installed = dirname(dirname(dirname(dirname(program))));
    symlinkSync(join(installed, ".cache", "copilot"), join(home, ".cache", "copilot"));
    const free = ["--allow-all-tools", "--allow-all-paths", "--no-color", "--log-level", "error"];
    return {
      program,
      args: [...free, "-p", "Do what the script says."],
      env: {
        COPILOT_PROVIDER_BASE_URL: modelUrl,
        COPILOT_PROVIDER_API_KEY: "dummy-key-of-a-test",
        COPILOT_OFFLINE: "true",
        COPILOT_AUTO_UPDATE: "false",
        COPILOT_MODEL: "claude-sonnet-4.5",
      },
    };
  },
};
