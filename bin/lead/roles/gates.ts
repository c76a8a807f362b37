/** The gates of a project, as the daemon has them. */
import type { Gates } from "../../../protocol/lead/gates.ts";
import type { Client } from "../../process-context.ts";
import { rowsOf, unknownForm } from "../../with-daemon.ts";

/** Returns the gates that are in force in the project. Throws `Refused`. */
export async function gatesIn(client: Pick<Client, "request" | "daemon">, project: string): Promise<Gates> {
  const [row] = await rowsOf(client, "gates", { project });
  if (row === undefined) throw unknownForm(client, "does not say which gates are in force");
  return row;
}
