/** Agents at work, as every view of the page needs some. */
import type { Client, Home, Message } from "../end-to-end/daemon.ts";

/** The agents of `fill`, by name. */
export type Agents = Readonly<Record<"alice" | "bob" | "carol", Client>>;

const idOf = {
  alice: "11111111-1111-4111-8111-111111111111",
  bob: "22222222-2222-4222-8222-222222222222",
  carol: "33333333-3333-4333-8333-333333333333",
} as const;

/** Three agents of one project: one holds a file, two wait for it; tasks that need each other, messages, shared values. */
export async function fill(home: Home): Promise<Agents> {
  const cwd = home.work;
  const join = (name: keyof typeof idOf) => home.session(idOf[name], { name });
  const agents = { alice: await join("alice"), bob: await join("bob"), carol: await join("carol") };
  const ask = async (name: keyof typeof idOf, request: Message) => {
    const answer = await agents[name].ask({ id: idOf[name], ...request });
    if (answer["ok"] !== true) throw new Error(`${name} was refused: ${JSON.stringify(answer)}`);
    return answer;
  };
  await ask("alice", { type: "file_lock", file: "src/api.ts", cwd });
  await ask("alice", { type: "file_lock", file: "src/db.ts", cwd });
  for (const name of ["bob", "carol"] as const)
    agents[name].send({ type: "file_lock", id: idOf[name], file: "src/api.ts", cwd, waitMs: 600_000 });
  const task = async (description: string, dependsOn: readonly string[]) => {
    const { task: made } = await ask("alice", { type: "task_create", description, dependsOn });
    return (made as { readonly id: string }).id;
  };
  const schema = await task("Write the schema", []);
  const api = await task("Build the API", [schema]);
  await task("Build the page", [api]);
  await task("Write the manual", [schema]);
  await ask("alice", { type: "task_claim", task: schema });
  await ask("bob", { type: "message_send", to: "alice", text: "May I have src/api.ts?" });
  await ask("carol", { type: "context_set", key: "port", value: 5432 });
  return agents;
}
