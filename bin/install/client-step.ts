/** The step that connects one client. */
import type { AgentClient, Trust } from "../clients/client.ts";
import type { ProcessContext } from "../process-context.ts";
import { type FileToWrite, installLines } from "../view/install.ts";
import { clean, counted } from "../view/text.ts";
import type { Step } from "./step.ts";
import { connect, type Order, observeFirst } from "./wish.ts";

/** Throws InstallFailed if the client cannot be connected. */
export function clientStep(world: ProcessContext, client: AgentClient, order: Order): Step {
  const connection = client.plan(world, order.wish);
  const { bin } = world.paths;
  const mode: FileToWrite = { path: world.paths.config, does: "write", of: "the mode: observe" };
  const files = [...connection.files(), ...(order.observe ? [mode] : [])];
  const others = files.filter(({ path }) => !path.startsWith(`${bin}/`));
  const changes = others.filter(({ does }) => does === "create" || does === "change");
  return {
    what: `hooks for ${client.title}`,
    is: "open",
    writes: [
      ...others.map(({ path, does, of }) => `${path} (${does === "keep" ? `${of}, already there` : of})`),
      `${bin}/ (the programs that hooks start)`,
    ].map(clean),
    ...(changes.length === 0 ? { isThere: true } : {}),
    ...(client.find(world) === null
      ? { isUnsure: `${client.title} is not here: no program in PATH, no folder of its own` }
      : {}),
    work: async () => {
      await observeFirst(world, order);
      return installLines(await connect(world, connection), connection, false).filter(isOfNow);
    },
  };
}

/** The step in which the client is told that the person trusts Kite's hooks. */
export async function trustStep(
  world: ProcessContext,
  client: AgentClient,
  trust: Trust | undefined,
): Promise<Step> {
  const what = `${client.title}'s trust in them`;
  if (trust === undefined || !client.isConnected(world))
    return { what, is: "impossible", says: `Kite's hooks are not there for ${client.title} to trust` };
  const missing = await trust.missing(world);
  if (missing === 0) return { what, is: "there", says: `${client.title} trusts Kite's hooks` };
  return {
    what,
    is: "open",
    writes: [
      clean(
        `${trust.file(world)} (by ${client.title} itself: that you trust ${counted(missing, "hook")} of Kite's)`,
      ),
    ],
    work: async () => {
      await trust.give(world);
      return [`${client.title} trusts Kite's hooks, in sessions that start from now on`];
    },
  };
}

/** What to do next is said when all steps are done. */
function isOfNow(line: string): boolean {
  return !line.startsWith("try next:");
}
