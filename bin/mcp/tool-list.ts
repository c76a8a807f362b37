/** The tools of both halves, in the order of tools/list. */
import { debateTools, leadScreen, spawnTools } from "../lead/tools.ts";
import { lockTools, rescueTools } from "./lock-tools.ts";
import { lookTools } from "./state-tools.ts";
import { contextTools, declareTools, messageTools } from "./talk-tools.ts";
import { taskTools } from "./task-tools.ts";
import type { Tool } from "./tool.ts";

export const tools: readonly Tool[] = [
  ...lookTools(leadScreen),
  ...declareTools,
  ...lockTools,
  ...rescueTools,
  ...taskTools,
  ...spawnTools,
  ...debateTools,
  ...contextTools,
  ...messageTools,
];
