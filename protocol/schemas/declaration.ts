/** The wire of declarations: what an agent says of itself, of its task and of the files it will change. */

import * as z from "zod";
import { limits } from "../limits.ts";
import { once, type RequestTable, reply } from "../request-table.ts";
import type { ActorRow } from "./lock.ts";
import { baseShape, idSchema, pathSchema } from "./session.ts";

const wordSchema = idSchema.max(limits.nameBytes);
const textSchema = z.string().max(limits.declaredTextChars);

const identitySchema = z.object({
  /** What it is in its team: `lead`, `implementer`, `reviewer`... A lead delegates code edits. */
  role: wordSchema.optional(),
  team: wordSchema.optional(),
});

const understandingSchema = z.object({
  /** The task in its own words. */
  task: textSchema.optional(),
  confidence: z.number().min(0).max(1).optional(),
  /** Why the confidence is not higher, or not lower. */
  reason: textSchema.optional(),
  /** The steps, in order; the list replaces the one before. */
  plan: z.array(textSchema).max(limits.planStepsMax).optional(),
});

const viewedFileSchema = z.object({
  /**
   * Relative to the session's directory, or absolute. With a slash at its end, a folder with all below it. Not the whole
   * worktree: that says nothing.
   */
  file: pathSchema,
  /** What is there now. */
  sees: textSchema.optional(),
  /** What the agent will do there. */
  will: textSchema.optional(),
  /** Strikes the file off: the agent will not change it after all. */
  drop: z.boolean().optional(),
});

const uncertaintySchema = z.object({
  /** The question is its name: a later part with the same question adds to it. */
  question: textSchema.regex(/\S/u, { error: "an uncertainty needs its question" }),
  /** What would settle it. */
  settledBy: textSchema.optional(),
  /** What was found. An uncertainty is resolved with evidence only. */
  evidence: textSchema.optional(),
  resolved: z.boolean().optional(),
});

/** The parts of a declaration. Each may come alone; what is absent stays as it was. */
export const declarationShape = {
  identity: identitySchema.optional(),
  understanding: understandingSchema.optional(),
  codeView: z.array(viewedFileSchema).max(limits.declaredFilesMax).optional(),
  uncertainties: z.array(uncertaintySchema).max(limits.uncertaintiesMax).optional(),
  /** Begins a new declaration: the one before goes to the history. Questions that it left open stay. */
  anew: z.boolean().optional(),
};

/** The parts alone, as a file or a tool call has them. */
export const declarationSchema = z.object(declarationShape);

/** The names of the fields: of the whole (`""`), and within each part; for texts that name an unknown one. */
export const declarationFields: ReadonlyMap<string, readonly string[]> = new Map([
  ["", Object.keys(declarationShape)],
  ["identity", Object.keys(identitySchema.shape)],
  ["understanding", Object.keys(understandingSchema.shape)],
  ["codeView", Object.keys(viewedFileSchema.shape)],
  ["uncertainties", Object.keys(uncertaintySchema.shape)],
]);

/** Declares parts of what the agent is about. `id` is the acting session, which must be registered. */
const declareSchema = z.object({
  ...baseShape,
  id: idSchema,
  agent: idSchema.optional(),
  ...declarationShape,
});

export type DeclarationParts = z.output<typeof declarationSchema>;

/** A file of the code view. */
export interface DeclaredFileRow {
  /** Absolute; of an agent of another machine, where the file is in this machine's clone. */
  readonly path: string;
  /** The folder with all below it. */
  readonly dir: boolean;
  readonly sees: string;
  readonly will: string;
  /** The agent, or one that works for it, wrote the file since it was declared. */
  readonly touched: boolean;
}

export interface UncertaintyRow {
  readonly question: string;
  readonly settledBy: string;
  readonly evidence: string;
  readonly resolved: boolean;
}

/** A declaration. Texts that were never declared are empty. Times are wall time in milliseconds. */
export interface DeclarationRow {
  /** The session, and the agent within it; null: its main agent. */
  readonly id: string;
  readonly agent: string | null;
  /** The agent's name for people, at the time of its latest declaration. */
  readonly name: string;
  /** What the store calls the agent's machine, if that is another one. */
  readonly machine?: string;
  readonly project: string;
  readonly role: string;
  readonly team: string;
  readonly task: string;
  /** 0 to 1; null: not declared. */
  readonly confidence: number | null;
  readonly reason: string;
  readonly plan: readonly string[];
  readonly files: readonly DeclaredFileRow[];
  readonly uncertainties: readonly UncertaintyRow[];
  /** Where the client says otherwise of its role or team than it declared, one sentence each. */
  readonly mismatches: readonly string[];
  readonly declaredAt: number;
  readonly updatedAt: number;
  /** How long ago its agent ended or began anew, in milliseconds; null: it holds. */
  readonly endedMs: number | null;
}

/** A declared file that another live agent declared, too. */
export interface Overlap {
  /** Absolute, as the other agent declared it; of one of another machine, within the worktree of the agent that declares. */
  readonly path: string;
  readonly with: ActorRow;
  /** What the other agent will do there. */
  readonly will: string;
}

export interface DeclareReply {
  readonly ok: true;
  readonly declaration: DeclarationRow;
  /** With whom to agree on these files before the first edit. */
  readonly overlaps: readonly Overlap[];
  /** Those of the declaration. */
  readonly mismatches: readonly string[];
  /** What is still missing, one sentence each; placeholders count as missing. */
  readonly missing: readonly string[];
  /** The role that the agent has now. */
  readonly role: string;
  /** What was declared and does not count, one sentence each: a role beside the one that the agent was given. */
  readonly warnings?: readonly string[];
}

/** The events of declarations. */
export type DeclarationEvent =
  | {
      /** An agent declared what it is about, or changed that; or its client now says otherwise than it declared. */
      readonly event: "declared";
      readonly by: ActorRow;
      readonly project: string;
      readonly role: string;
      /** Its task in its own words. */
      readonly text: string;
      /** The number of files in its code view. */
      readonly fileCount: number;
      /** New ones of the declaration's `mismatches`. */
      readonly mismatches: readonly string[];
    }
  | {
      /** Two agents declared the same file, or a folder and a file in it: sent when the later one declares it. */
      readonly event: "declarations_overlap";
      readonly sides: readonly [ActorRow, ActorRow];
      /** What each side declared, and what it will do there. Paths of agents of two machines are within their worktrees. */
      readonly paths: readonly [string, string];
      readonly wills: readonly [string, string];
    };

export const declarationRequests = {
  declare: { params: declareSchema, reply: reply<DeclareReply>(), traits: once },
} as const satisfies RequestTable;
