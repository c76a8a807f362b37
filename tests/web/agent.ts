/** An agent that says what it wants, and is not refused. */
import { randomUUID } from "node:crypto";
import type { Home, Message } from "../end-to-end/daemon.ts";

export class Agent {
  readonly id = randomUUID();
  readonly #send: (request: Message) => Promise<Message>;

  private constructor(send: (request: Message) => Promise<Message>) {
    this.#send = send;
  }

  /** Registers an agent in the project of the directory `cwd`, by default the home's. */
  static async begin(home: Home, name: string, cwd: string = home.work): Promise<Agent> {
    const client = await home.connect();
    const agent = new Agent(request => client.ask(request));
    await agent.ask({ type: "register", cwd, name });
    return agent;
  }

  /** Returns the answer. Throws if it is a refusal. */
  async ask(request: Message): Promise<Message> {
    const answer = await this.#send({ id: this.id, ...request });
    if (answer["ok"] !== true) throw new Error(`refused: ${JSON.stringify(answer)}`);
    return answer;
  }

  /** Adds a task; returns its id. */
  async task(description: string, more: Message = {}): Promise<string> {
    const { task } = await this.ask({ type: "task_create", description, ...more });
    return (task as { readonly id: string }).id;
  }
}
