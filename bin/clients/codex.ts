/** Codex: its hooks and tools for all projects, and the person's trust in them. */

import { eventTableCodex as eventTable } from "../../hooks/clients/clients.ts";
import {
  clientName,
  codexEntries,
  codexHome,
  configFile,
  hooksBehind,
  hooksFile,
  hooksOf,
  keysOf,
  toolsAndTrustOf,
  toolsOf,
} from "../../hooks/install/codex.ts";
import { type AppServer, type ListedHook, withAppServer } from "../../hooks/install/codex-app-server.ts";
import { InstallFailed } from "../../hooks/install/file.ts";
import { whileClientWrites } from "../../hooks/install/hooks-file.ts";
import { mcpPath } from "../../hooks/install/program.ts";
import { shellArgument } from "../../protocol/text.ts";
import { checkCodex } from "../doctor/codex.ts";
import type { ProcessContext } from "../process-context.ts";
import { version } from "../version.ts";
import { clean, counted } from "../view/text.ts";
import { type AgentClient, programOnPath } from "./client.ts";
import { codexHere } from "./codex-here.ts";
import { filesClient } from "./files-client.ts";

export const codex: AgentClient = {
  ...filesClient(codexHere, {
    hooks: ({ paths, env }) => hooksOf(paths, env),
    tools: ({ paths, env }) => toolsOf(paths, env),
    lastTools: ({ paths, env }) => toolsAndTrustOf(paths, env),
    leaves: ({ paths, env }) => {
      const moved = hooksBehind(paths, env);
      if (moved === 0) return null;
      const hooks = moved === 1 ? "a hook of yours stood" : `${moved} hooks of yours stood`;
      return `${hooks} behind Kite's in ${hooksFile(env)}; Codex trusts a hook where it stands, so start codex and look at its review: until then it skips what moved`;
    },
    toolsLine: ({ paths }) => `codex mcp add kite -- ${shellArgument(mcpPath(paths.bin))}`,
    events: eventTable.map(({ event }) => event),
    inForce:
      "in sessions that start once Codex trusts the hooks; until then it skips them, codex exec without a word",
    todo: [
      `to trust the hooks: start codex and look at its review, or kite install --client ${clientName} --trust`,
    ],
  }),
  checks: world => checkCodex(world, missingTrust),
  trust: {
    file: ({ env }) => configFile(env),
    missing: missingTrust,
    give: world =>
      whileClientWrites(world.paths, configFile(world.env), () =>
        askClient(world, async (server, ours) => {
          const missing = (await ours(server)).filter(({ isTrusted }) => !isTrusted);
          if (missing.length > 0) await server.trust(missing);
          const left = (await ours(server)).filter(({ isTrusted }) => !isTrusted);
          if (left.length > 0)
            throw new InstallFailed(
              `Codex still does not trust ${counted(left.length, "hook")} of Kite's: start codex and look at /hooks`,
            );
        }),
      ),
  },
};

async function missingTrust(world: ProcessContext): Promise<number> {
  return await askClient(
    world,
    async (server, ours) => (await ours(server)).filter(one => !one.isTrusted).length,
  );
}

type Ours = (server: AppServer) => Promise<readonly ListedHook[]>;

/** Asks the client. Throws InstallFailed if it does not answer, or does not have every entry of Kite's. */
async function askClient<T>(
  world: ProcessContext,
  work: (server: AppServer, ours: Ours) => Promise<T>,
): Promise<T> {
  const { paths, env } = world;
  const program = programOnPath(world, clientName);
  if (program === null)
    throw new InstallFailed(
      "no codex is in PATH to be asked: start codex, and trust Kite's hooks in its review",
    );
  const keys = keysOf(paths, env);
  const ours: Ours = async server => {
    const { hooks, warnings } = await server.hooks();
    const found = hooks.filter(({ key }) => keys.includes(key));
    if (found.length === codexEntries(null).length) return found;
    const [warning] = warnings;
    if (warning !== undefined) throw new InstallFailed(`Codex does not run all hooks: ${clean(warning)}`);
    throw new InstallFailed(
      `Codex lists ${found.length} of Kite's ${codexEntries(null).length} hooks in ${hooksFile(env)}: to write them, kite install --client codex`,
    );
  };
  return await withAppServer({ program, env, cwd: codexHome(env), version }, server => work(server, ours));
}
