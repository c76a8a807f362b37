/** Which agents keep files as they are: by a lock, or with uncommitted work that Kite knows of. */
import type { Acting } from "../../actor.ts";
import type { Client } from "../../process-context.ts";
import { rowsOf } from "../../with-daemon.ts";

/** Returns for each path that an agent keeps why; of the caller's own locks none count. */
export async function keepersOf(
  client: Client,
  { own, project }: { readonly own: Acting | null; readonly project: string },
  paths: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const wanted = new Set(paths);
  const kept = new Map<string, string>();
  for (const { path, writers } of await rowsOf(client, "writes", { project })) {
    const [latest] = writers;
    if (latest === undefined || !wanted.has(path)) continue;
    const who = latest.id === own?.id ? "your own" : `${latest.name}'s`;
    kept.set(path, `${who} uncommitted work`);
  }
  for (const { path, file, holder } of await rowsOf(client, "locks")) {
    if (holder === null || holder.id === own?.id) continue;
    const held = file.endsWith("/") ? paths.filter(one => one.startsWith(`${path}/`)) : [path];
    for (const one of held) if (wanted.has(one)) kept.set(one, `${holder.name} holds it`);
  }
  return kept;
}
