/** The wire of debates: requests, replies and rows. */
import * as z from "zod";
import { limits } from "../limits.ts";
import { once, type RequestTable, repeatable, reply } from "../request-table.ts";
import type { ActorRow } from "../schemas/lock.ts";
import { baseShape, idSchema } from "../schemas/session.ts";

/** What an entry is: a doubt, a finding, the answer to a challenge, or the end of a hypothesis. */
export type DebateEntryKind = "challenge" | "evidence" | "answer" | "concede";

/** The actor; without `id` a person at a terminal. */
const actorShape = { ...baseShape, id: idSchema.optional(), agent: idSchema.optional() };
const textSchema = z
  .string()
  .max(limits.debateTextChars)
  .regex(/\S/u, { error: "a text must say something" });
/** A hypothesis by its name. */
const nameSchema = idSchema.max(limits.nameBytes);
/** A debate by its id, or by an unambiguous prefix or last part of it. */
const refSchema = idSchema;
const inDebateShape = { ...actorShape, debate: refSchema };

/**
 * Opens a debate in the actor's project; a person names the project. Refused by `too_many_debates`,
 * `recipient_gone`, `recipient_ambiguous`.
 */
const debateOpenSchema = z.object({
  ...actorShape,
  question: textSchema,
  hypotheses: z
    .array(z.object({ name: nameSchema, claim: textSchema }))
    .min(2)
    .max(limits.debateHypothesesMax),
  /** Who is told of it, named as in `message_send`; by default the first 100 live actors of the project. */
  participants: z
    .array(
      z
        .string()
        .min(1)
        .max(limits.idBytes + limits.nameBytes),
    )
    .min(1)
    .max(limits.debateParticipantsMax)
    .optional(),
});

/** Doubts a hypothesis: until it is answered, the debate cannot close with that hypothesis. */
const debateChallengeSchema = z.object({ ...inDebateShape, hypothesis: nameSchema, text: textSchema });

/** Adds evidence for a hypothesis, or against it. */
const debateEvidenceSchema = z.object({
  ...inDebateShape,
  hypothesis: nameSchema,
  text: textSchema,
  /** Whether it speaks against the hypothesis; by default it speaks for it. */
  against: z.boolean().optional(),
});

/**
 * Answers a challenge, named by the number of its entry. An agent does not answer its own (`debate_state`), unless it is
 * alone in the project.
 */
const debateAnswerSchema = z.object({
  ...inDebateShape,
  challenge: z.number().int().min(1),
  text: textSchema,
});

/**
 * Gives a hypothesis up: it needs no challenge any more and cannot be chosen. The last one left cannot be conceded. An
 * agent concedes what it introduced or supports (by evidence or an answer) and no other actor supports; else
 * `debate_state`.
 */
const debateConcedeSchema = z.object({
  ...inDebateShape,
  hypothesis: nameSchema,
  text: textSchema.optional(),
});

/**
 * Closes the debate with a verdict, which becomes durable context of the project under `debate/<id>`. Refused by
 * `debate_unsettled` (with `missing`), `debate_state`, `person_only`.
 */
const debateCloseSchema = z.object({
  ...inDebateShape,
  /** The name of the chosen hypothesis. */
  verdict: nameSchema,
  because: textSchema,
  /** Closes it although something is missing; only a person may. */
  force: z.boolean().optional(),
});

/** Returns a debate with its entries. */
const debateGetSchema = z.object({
  ...inDebateShape,
  /** `next` of the previous reply: the number of the last entry in it. */
  after: z.number().int().min(0).optional(),
});

/** Lists the debates of the project, the oldest first. */
const debateListSchema = z.object({
  ...actorShape,
  limit: z.number().int().min(1).max(limits.rowsMax).optional(),
  /** `next` of the previous reply. */
  after: z.string().max(limits.idBytes).optional(),
});

/** A hypothesis with what was said of it. */
export interface HypothesisRow {
  readonly name: string;
  readonly claim: string;
  readonly conceded: boolean;
  /** The number of its challenges, and the entries of those that no other actor answered. */
  readonly challenges: number;
  readonly unanswered: readonly number[];
}

export interface VerdictRow {
  /** The chosen hypothesis. */
  readonly name: string;
  readonly because: string;
  /** Who closed the debate; null: a person at a terminal. */
  readonly by: ActorRow | null;
  /** Whether a person closed it although something was missing. */
  readonly forced: boolean;
  /** Whether an agent closed it that was alone in the project: no other agent answered or challenged it. */
  readonly alone: boolean;
  /** Wall time in milliseconds. */
  readonly at: number;
}

/** A debate without its entries. Times are wall time in milliseconds. */
export interface DebateRow {
  readonly id: string;
  readonly project: string;
  readonly question: string;
  readonly status: "open" | "closed";
  /** Null: a person at a terminal. */
  readonly openedBy: ActorRow | null;
  readonly openedAt: number;
  readonly hypotheses: readonly HypothesisRow[];
  /** The number of entries. */
  readonly entryCount: number;
  readonly verdict: VerdictRow | null;
}

export interface DebateEntryRow {
  /** Its number in the debate, from 1. */
  readonly number: number;
  readonly kind: DebateEntryKind;
  readonly hypothesis: string;
  /** The challenge that an answer answers; else null. */
  readonly answers: number | null;
  /** Whether evidence speaks against the hypothesis. */
  readonly against: boolean;
  /** Null: the hypothesis was conceded without words. */
  readonly text: string | null;
  /** Null: a person at a terminal. */
  readonly by: ActorRow | null;
  readonly at: number;
}

/**
 * What a debate lacks before it can close: an answer to a challenge, or a challenge to a rival. For the chosen
 * hypothesis it may lack the challenge of another actor to any hypothesis.
 */
export interface MissingRow {
  readonly hypothesis: string;
  /** The challenge that is unanswered; null: a challenge is missing. */
  readonly challenge: number | null;
  /** What to do: `answer` the challenge; `challenge` the hypothesis, or concede it. */
  readonly next: "answer" | "challenge";
  /** Whether another actor has to do it: what the caller says would not count. */
  readonly others: boolean;
}

export interface DebateOpenReply {
  readonly ok: true;
  readonly debate: string;
  readonly participants: readonly ActorRow[];
}

export interface DebateEntryReply {
  readonly ok: true;
  readonly debate: string;
  /** The number of the new entry. */
  readonly entry: number;
}

export interface DebateCloseReply {
  readonly ok: true;
  readonly debate: string;
  readonly verdict: VerdictRow;
  /** The key of the context that has the verdict. */
  readonly key: string;
}

export interface DebateGetReply {
  readonly ok: true;
  readonly debate: DebateRow;
  readonly participants: readonly ActorRow[];
  readonly entries: readonly DebateEntryRow[];
  readonly next?: number;
}

export interface DebateListReply {
  readonly ok: true;
  readonly rows: readonly DebateRow[];
  readonly next?: string;
}

/** The events of debates. */
export type DebateEvent = {
  readonly event: "debate_changed";
  readonly debate: string;
  readonly project: string;
  /** An entry's kind, or that the debate was opened or closed. */
  readonly what: DebateEntryKind | "opened" | "closed";
  /** Null: a person. */
  readonly by: ActorRow | null;
};

export const debateRequests = {
  debate_open: { params: debateOpenSchema, reply: reply<DebateOpenReply>(), traits: once },
  debate_challenge: { params: debateChallengeSchema, reply: reply<DebateEntryReply>(), traits: once },
  debate_evidence: { params: debateEvidenceSchema, reply: reply<DebateEntryReply>(), traits: once },
  debate_answer: { params: debateAnswerSchema, reply: reply<DebateEntryReply>(), traits: once },
  debate_concede: { params: debateConcedeSchema, reply: reply<DebateEntryReply>(), traits: once },
  debate_close: { params: debateCloseSchema, reply: reply<DebateCloseReply>(), traits: once },
  debate_get: { params: debateGetSchema, reply: reply<DebateGetReply>(), traits: repeatable },
  debate_list: { params: debateListSchema, reply: reply<DebateListReply>(), traits: repeatable },
} as const satisfies RequestTable;
