/**
 * The rules of all slices, of both halves: what each does at its commands, its timers and the base's points. A later one may
 * handle a command of an earlier one, whose handler it then calls.
 */
import { branchRules } from "./branches/rules.ts";
import { daemonRules } from "./daemon.ts";
import { declarationRules } from "./declarations/rules.ts";
import { writeRules } from "./files/rules.ts";
import { checkRules } from "./lead/checks/record.ts";
import { debateRules } from "./lead/debates/rules.ts";
import { comparisonRules } from "./lead/declarations/rules.ts";
import { healthRules } from "./lead/health/release.ts";
import { mergeRules } from "./lead/merges/rules.ts";
import { roleRules } from "./lead/roles/rules.ts";
import { spawnRules } from "./lead/spawns/rules.ts";
import { teamRules } from "./lead/teams/teammates.ts";
import { lockRules } from "./locks/rules.ts";
import { talkRules } from "./messages/rules.ts";
import { nodeRules } from "./nodes/rules.ts";
import { outboxRules } from "./outbox/rules.ts";
import { sessionRules } from "./sessions/rules.ts";
import { stashRules } from "./stashes/note.ts";
import { taskRules } from "./tasks/rules.ts";

export const ruleList = [
  daemonRules,
  lockRules,
  sessionRules,
  writeRules,
  stashRules,
  taskRules,
  declarationRules,
  branchRules,
  talkRules,
  comparisonRules,
  checkRules,
  debateRules,
  roleRules,
  spawnRules,
  teamRules,
  healthRules,
  mergeRules,
  nodeRules,
  outboxRules,
] as const;
