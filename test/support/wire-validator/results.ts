// Which definition a result has to satisfy, by revision and method.
import type { SchemaFile } from '../../spec/schemas.ts';
import { isObject, type Json } from './json.ts';

/** The revisions we have schemas for; the older ones count as 2025-11-25, whose schema takes their messages too. */
export type WireRevision = '2025-11-25' | '2026-07-28';
export type Definition = readonly [file: SchemaFile, name: string];

const core26 = (name: string): Definition => ['core-2026-07-28', name];
const tasks26 = (name: string): Definition => ['ext-tasks-2026-07-28', name];
const core25 = (name: string): Definition => ['core-2025-11-25', name];

const modern: Record<string, Definition> = {
  'server/discover': core26('DiscoverResult'),
  'tools/list': core26('ListToolsResult'),
  'tools/call': core26('CallToolResult'),
  'prompts/list': core26('ListPromptsResult'),
  'prompts/get': core26('GetPromptResult'),
  'resources/list': core26('ListResourcesResult'),
  'resources/templates/list': core26('ListResourceTemplatesResult'),
  'resources/read': core26('ReadResourceResult'),
  'completion/complete': core26('CompleteResult'),
  'subscriptions/listen': core26('SubscriptionsListenResult'),
  'tasks/get': tasks26('GetTaskResult'),
  'tasks/update': tasks26('UpdateTaskResult'),
  'tasks/cancel': tasks26('CancelTaskResult'),
};

const legacy: Record<string, Definition> = {
  initialize: core25('InitializeResult'),
  ping: core25('EmptyResult'),
  'logging/setLevel': core25('EmptyResult'),
  'tools/list': core25('ListToolsResult'),
  'tools/call': core25('CallToolResult'),
  'prompts/list': core25('ListPromptsResult'),
  'prompts/get': core25('GetPromptResult'),
  'resources/list': core25('ListResourcesResult'),
  'resources/templates/list': core25('ListResourceTemplatesResult'),
  'resources/read': core25('ReadResourceResult'),
  'resources/subscribe': core25('EmptyResult'),
  'resources/unsubscribe': core25('EmptyResult'),
  'completion/complete': core25('CompleteResult'),
  'tasks/get': core25('GetTaskResult'),
  'tasks/result': core25('GetTaskPayloadResult'),
  'tasks/list': core25('ListTasksResult'),
  'tasks/cancel': core25('CancelTaskResult'),
};

const notifications: Record<WireRevision, Record<string, Definition>> = {
  '2026-07-28': {
    'notifications/cancelled': core26('CancelledNotification'),
    'notifications/progress': core26('ProgressNotification'),
    'notifications/message': core26('LoggingMessageNotification'),
    'notifications/tools/list_changed': core26('ToolListChangedNotification'),
    'notifications/prompts/list_changed': core26('PromptListChangedNotification'),
    'notifications/resources/list_changed': core26('ResourceListChangedNotification'),
    'notifications/resources/updated': core26('ResourceUpdatedNotification'),
    'notifications/subscriptions/acknowledged': core26('SubscriptionsAcknowledgedNotification'),
    'notifications/tasks': tasks26('TaskStatusNotification'),
  },
  '2025-11-25': {
    'notifications/cancelled': core25('CancelledNotification'),
    'notifications/progress': core25('ProgressNotification'),
    'notifications/message': core25('LoggingMessageNotification'),
    'notifications/tools/list_changed': core25('ToolListChangedNotification'),
    'notifications/prompts/list_changed': core25('PromptListChangedNotification'),
    'notifications/resources/list_changed': core25('ResourceListChangedNotification'),
    'notifications/resources/updated': core25('ResourceUpdatedNotification'),
    'notifications/elicitation/complete': core25('ElicitationCompleteNotification'),
    'notifications/tasks/status': core25('TaskStatusNotification'),
  },
};

/** Requests a server sends; 2026-07-28 has none. */
const serverRequests: Record<string, Definition> = {
  ping: core25('PingRequest'),
  'roots/list': core25('ListRootsRequest'),
  'sampling/createMessage': core25('CreateMessageRequest'),
  'elicitation/create': core25('ElicitRequest'),
};

/** Errors whose data the schema describes. */
const errors: Record<number, string> = {
  [-32020]: 'HeaderMismatchError',
  [-32021]: 'MissingRequiredClientCapabilityError',
  [-32022]: 'UnsupportedProtocolVersionError',
};

/** Methods that may answer with a question before they start. */
const asksFirst = ['tools/call', 'prompts/get', 'resources/read'];

export function definitionOfResult(revision: WireRevision, method: string, result: Json): Definition | undefined {
  if (revision === '2025-11-25') {
    const created = method === 'tools/call' && isObject(result['task']) && !('content' in result);
    return created ? core25('CreateTaskResult') : own(legacy, method);
  }
  if (method === 'tools/call' && result['resultType'] === 'task') return tasks26('CreateTaskResult');
  if (asksFirst.includes(method) && result['resultType'] === 'input_required') return core26('InputRequiredResult');
  return own(modern, method);
}

export function definitionOfNotification(revision: WireRevision, method: string): Definition | undefined {
  return own(notifications[revision], method);
}

export function definitionOfServerRequest(revision: WireRevision, method: string): Definition | undefined {
  return revision === '2025-11-25' ? own(serverRequests, method) : undefined;
}

export function definitionOfError(revision: WireRevision, code: unknown): Definition {
  if (revision === '2025-11-25') return core25('JSONRPCErrorResponse');
  return core26(errors[Number(code)] ?? 'JSONRPCErrorResponse');
}

/** The result types a method may answer with at 2026-07-28. */
export function resultTypesOf(method: string): string[] {
  return [
    'complete',
    ...(asksFirst.includes(method) ? ['input_required'] : []),
    ...(method === 'tools/call' ? ['task'] : []),
  ];
}

function own(table: Record<string, Definition>, name: string): Definition | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
