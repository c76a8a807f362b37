/** What the log calls a file: it has the paths of the machine where the daemon runs. */
import { isBelow, joined, restBelow } from "../../daemon/facts/mounts.ts";
import { isElsewhere } from "../../hooks/client/mounts.ts";
import { connected } from "../named-session.ts";
import type { ProcessContext } from "../process-context.ts";

/** Returns the absolute paths of a file, in a container with the host's before them; without a daemon the container's alone. */
export async function withHostNames(
  world: ProcessContext,
  names: readonly string[],
): Promise<readonly string[]> {
  if (!isElsewhere(world.paths.home)) return names;
  const client = await connected(world);
  if (client === null) return names;
  const mounted = [...(client.daemon.mounted ?? [])].sort((a, b) => b.inside.length - a.inside.length);
  client.close();
  const hosts = names.map(name => {
    const pair = mounted.find(({ inside }) => isBelow(inside, name));
    return pair === undefined ? name : joined(pair.outside, restBelow(pair.inside, name));
  });
  return [...new Set([...hosts, ...names])];
}
