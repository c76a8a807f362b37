/** The gates of a project, as the daemon has them. */

import { type Gates, gatesFor } from "../../../protocol/lead/roles.ts";
import type { Client } from "../../process-context.ts";
import type { OneAgent } from "../../view/feature.ts";
import { rowsOf, unknownForm } from "../../with-daemon.ts";
import { heldText, isBounded } from "../view/roles.ts";

/** Returns whether the agent is held to its role, in words; null: it has the default one, or one that may do all. */
export async function heldToRole(
  client: Pick<Client, "request" | "daemon">,
  project: string,
  { role }: Pick<OneAgent, "role">,
): Promise<string | null> {
  if (role === undefined || !isBounded(role.role)) return null;
  return heldText[gatesFor(await gatesIn(client, project), role.by).role];
}

/** Returns the gates that are in force in the project. Throws `Refused`. */
export async function gatesIn(client: Pick<Client, "request" | "daemon">, project: string): Promise<Gates> {
  const [row] = await rowsOf(client, "gates", { project });
  if (row === undefined) throw unknownForm(client, "does not say which gates are in force");
  return row;
}
