/** The sessions of the person: of a command that holds locks, and of a terminal that works on a task. */
import { personName } from "../protocol/names.ts";
import { terminalOf } from "./actor.ts";
import type { Client, ProcessContext } from "./process-context.ts";

/**
 * Registers a session of the person, with the person's name; if another one in the project has that, with the terminal
 * behind it.
 */
export async function registerPerson(
  { env, cwd }: Pick<ProcessContext, "env" | "cwd">,
  client: Pick<Client, "request">,
  session: { readonly id: string; readonly pid?: number },
) {
  const name = personName();
  const known = await client.request("register", { ...session, cwd, name });
  if (!known.ok || known.name === name) return known;
  const terminal = terminalOf(env);
  if (terminal === "") return known;
  return client.request("register", { ...session, cwd, name: `${name}@${terminal}` });
}
