/** Chooses which hook client entries run on this machine. */
import { join } from "node:path";
import type { ClientName } from "../hooks/claude-code/settings/command.ts";
import { tryPerl } from "../hooks/claude-code/settings/try-client.ts";
import { InstallFailed } from "../hooks/install/failed.ts";

export interface ChosenClient {
  readonly client: ClientName;
  /** Why Node's client runs though nobody asked for it. */
  readonly whyNotPerl?: string;
}

/**
 * Returns perl's client if a trial run of it succeeds, unless the person chose a client. Throws InstallFailed if the
 * person chose perl's and it does not work.
 */
export async function chooseClient(asked: ClientName | undefined, dist: string): Promise<ChosenClient> {
  if (asked === "node") return { client: "node" };
  const whyNotPerl = await tryPerl(join(dist, "hook.pl"));
  if (whyNotPerl === null) return { client: "perl" };
  if (asked === undefined) return { client: "node", whyNotPerl };
  throw new InstallFailed(
    `the perl client does not work here: ${whyNotPerl}; run kite install without --client`,
  );
}
