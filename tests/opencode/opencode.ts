/** The real OpenCode. */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chatCompletions } from "../clients/chat-completions.ts";
import type { RealClient } from "../clients/session.ts";

const plugin = fileURLToPath(new URL("../../dist/opencode-plugin.mjs", import.meta.url));

export const opencode: RealClient = {
  name: "opencode",
  wire: chatCompletions,
  deniedBy: "",
  idIn: /"sessionID":"(ses_\w+)"/,
  edit: (id, filePath, oldString, newString) => ({
    id,
    name: "edit",
    input: { filePath, oldString, newString },
  }),
  line: (id, command) => ({ id, name: "bash", input: { command, description: "a command" } }),
  prepare: (home, modelUrl, { tools }) => {
    const config = join(home, ".config", "opencode");
    mkdirSync(join(config, "plugins"), { recursive: true });
    copyFileSync(plugin, join(config, "plugins", "kite.js"));
    writeFileSync(join(config, "opencode.json"), JSON.stringify(configOf(modelUrl, tools)));
    const quiet = ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE"].map(
      name => `OPENCODE_DISABLE_${name}`,
    );
    return {
      program: process.env["KITE_TEST_OPENCODE"] ?? "",
      args: ["run", "--format", "json", "Do what the script says."],
      env: {
        XDG_CONFIG_HOME: join(home, ".config"),
        XDG_DATA_HOME: join(home, ".local", "share"),
        XDG_CACHE_HOME: join(home, ".cache"),
        XDG_STATE_HOME: join(home, ".local", "state"),
        // The client fetches types for plugins at its start, and waits until that has failed.
        npm_config_fetch_retries: "0",
        ...Object.fromEntries(quiet.map(name => [name, "1"])),
        NO_PROXY: "127.0.0.1,localhost",
        no_proxy: "127.0.0.1,localhost",
      },
    };
  },
};

function configOf(url: string, tools: readonly string[] | undefined): object {
  const models = { scripted: { name: "scripted", limit: { context: 100_000, output: 10_000 } } };
  const options = { baseURL: `${url}/v1`, apiKey: "dummy-key-of-a-test" };
  return {
    model: "local/scripted",
    small_model: "local/scripted",
    provider: { local: { npm: "@ai-sdk/openai-compatible", name: "local", options, models } },
    permission: { "*": "allow" },
    ...(tools === undefined ? {} : { mcp: { kite: { type: "local", command: tools, enabled: true } } }),
  };
}
