/** Says what an agent that was started does, and what became of it. */
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { nearPath } from "../../../protocol/text.ts";
import { type Client, type ProcessContext, print, printFramed, printJson } from "../../process-context.ts";
import { clean } from "../../view/text.ts";
import { followSpawn } from "./follow.ts";
import { withOutput } from "./output.ts";

/** Returns the record once its agent has registered or failed. */
export async function followed(
  world: ProcessContext,
  client: Client,
  row: SpawnRow,
  { json = false }: { readonly json?: boolean },
): Promise<SpawnRow> {
  const seen = teller(world, { wait: false, json });
  return withOutput(world, client, await followSpawn(client, row, ({ state }) => state !== "starting", seen));
}

/** Returns what says on standard error what the agent does, each state once. */
export function teller(
  world: ProcessContext,
  { wait, json }: { readonly wait: boolean; readonly json: boolean },
): (row: SpawnRow) => void {
  let told = "";
  return ({ id, state, name }) => {
    if (json || `${id} ${state}` === told) return;
    told = `${id} ${state}`;
    if (state === "starting") world.stderr.write(`kite: ${clean(name)} starts\n`);
    if (wait && state === "running")
      world.stderr.write(`kite: ${clean(name)} runs; kite agents attach ${clean(name)}\n`);
    if (wait && state === "waits_on_person")
      world.stderr.write(`kite: ${clean(name)} waits on a person; kite agents attach ${clean(name)}\n`);
  };
}

export function isFailed({ state }: SpawnRow): boolean {
  return state === "failed" || state === "stopped";
}

/** Prints what became of an agent that was started. */
export function show(world: ProcessContext, row: SpawnRow, isJson: boolean): void {
  if (isJson) {
    printJson(world, { ok: !isFailed(row), spawn: row });
    return;
  }
  const { name, id, state, worktree, branch, reason, result, output } = row;
  const where = worktree === null ? "" : ` in ${clean(nearPath(worktree, world.cwd))}`;
  const on = branch === null ? "" : ` on ${clean(branch)}`;
  const words = state.replaceAll("_", " ");
  print(world, [`${clean(name)} (${id}): ${words}${where}${on}`]);
  if (reason !== null) print(world, [`  ${clean(reason)}`]);
  if (result !== null) printFramed(world, [`  result: ${clean(result)}`]);
  if (state === "failed" && output !== null)
    printFramed(
      world,
      output
        .split("\n")
        .slice(-20)
        .map(line => `  | ${clean(line)}`),
    );
}
