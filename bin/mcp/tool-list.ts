/** The tools of both halves, in the order of tools/list. */
import { debateTools } from "../lead/mcp/debate.ts";
import { spawnTools } from "../lead/mcp/spawn.ts";
import { leadScreen } from "../lead/mcp/status.ts";
import type { Tool } from "./tool.ts";
import { contextTools } from "./tools-context.ts";
import { declareTools } from "./tools-declare.ts";
import { lockTools } from "./tools-lock.ts";
import { lookTools } from "./tools-look.ts";
import { messageTools } from "./tools-message.ts";
import { rescueTools } from "./tools-rescue.ts";
import { taskTools } from "./tools-task.ts";

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
