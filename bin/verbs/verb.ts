/**
 * A verb of the command line and of the agents' tools, described once: its request, how each field is typed, what help says,
 * how success reads for a person, and what an agent does next.
 */
import type { Refusal } from "../../protocol/codes.ts";
import type { ParamsOf, ReplyOf, RequestType } from "../../protocol/schemas/requests.ts";
import type { ToolAnswer } from "../mcp/tool.ts";
import type { PersonsDeed } from "../person-only.ts";
import type { Client } from "../process-context.ts";
import type { Screen } from "../view/text.ts";

/** How a person types a field of a request. */
export interface Field<Value = unknown> {
  /** In commander's form: `<debate>`, `[text...]` (one text of several words), `--against`, `--verdict <name>`. */
  readonly form: string;
  readonly says?: string;
  /** The request needs this option. */
  readonly isNeeded?: true;
  /** The option may be given more than once; without `read`, the field is left out if it is not given. */
  readonly isList?: true;
  /** Returns the field's value for what a person typed. Throws `Misuse`. */
  readonly read?: (typed: never) => Value;
  /** What a tool says of the parameter in place of its schema. */
  readonly short?: string;
  /** What only a person does with this option; no tool has it. */
  readonly person?: PersonsDeed;
}

/** The fields that say who acts; every verb fills them in. */
type Who = "id" | "agent";

type Fields<Params> = { readonly [F in keyof Omit<Params, Who>]: Field<Params[F & keyof Params]> };

interface Words<Reply> {
  /** What help says. */
  readonly says: string;
  readonly examples: readonly string[];
  /** Nobody acts: the verb only shows something. */
  readonly isLook?: true;
  /** Returns success in a person's words. */
  forPerson(reply: Reply, screen: Screen): readonly string[];
  /** Returns success in an agent's words, with what it does next. */
  forAgent(reply: Reply): ToolAnswer;
  /** Adds to a refusal what an agent does next. */
  refusedAgent?(refusal: Refusal): Refusal;
}

/** The description of a verb that sends request `T`; `Params` and `Reply` differ from its own if it is sent page by page. */
interface Description<T extends RequestType, Params, Reply> extends Words<Reply> {
  readonly request: T;
  /** In the order of the command line. `project` comes last if it is not among them; no tool has it. */
  readonly fields: Fields<Params>;
  fetch?(client: Pick<Client, "request">, params: Params): Promise<Reply>;
}

/** A verb as the command line and a tool run it. */
export interface Verb extends Words<unknown> {
  readonly request: RequestType;
  readonly fields: Readonly<Record<string, Field>>;
  fetch?(client: Pick<Client, "request">, params: unknown): Promise<unknown>;
}

/** The verbs of a command, or of a tool, by their names. */
export type Verbs = Readonly<Record<string, Verb>>;

/** Describes a verb; the compiler holds its fields against the request's. */
export function verb<T extends RequestType, Params = ParamsOf<T>, Reply = ReplyOf<T>>(
  description: Description<T, Params, Reply>,
): Verb {
  return description;
}

/** Whose short names count; every verb has it. */
export const project: Field<string> = {
  form: "--project <project>",
  says: "another project than that of the working directory",
};

/** A field was typed in a wrong way; the message says how it is typed. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}
