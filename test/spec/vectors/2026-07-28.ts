// One message of each kind that the extension knows at 2026-07-28, each valid by itself.
import type { SchemaFile } from '../schemas.ts';

export interface Vector {
  name: string;
  /** Client, server, or a fragment that travels in a message. */
  from: 'client' | 'server' | 'fragment';
  schema: SchemaFile;
  definition: string;
  /** The member the definition is about; undefined for the whole message. */
  member?: string;
  message: Record<string, unknown>;
}

const taskId = '4mUe0m0kS2u8p7cQ1n9dVg';
const protocolVersion = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
const clientInfo = { 'io.modelcontextprotocol/clientInfo': { name: 'demo-client', version: '0.1.0' } };
const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const withTasks = { ...protocolVersion, 'io.modelcontextprotocol/clientCapabilities': tasks };
const withForms = {
  ...protocolVersion,
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} }, ...tasks },
};
const subscription = { 'io.modelcontextprotocol/subscriptionId': 40 };

export const vectors: readonly Vector[] = [
  {
    name: 'discover request',
    from: 'client',
    schema: 'core-2026-07-28',
    definition: 'DiscoverRequest',
    message: {
      jsonrpc: '2.0',
      id: 'd1',
      method: 'server/discover',
      params: { _meta: { ...withTasks, ...clientInfo } },
    },
  },
  {
    name: 'discover result',
    from: 'server',
    schema: 'core-2026-07-28',
    definition: 'DiscoverResult',
    member: 'result',
    message: {
      jsonrpc: '2.0',
      id: 'd1',
      result: {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
        ttlMs: 600000,
        cacheScope: 'public',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'demo-server', version: '0.1.0' } },
      },
    },
  },
  {
    name: 'call that is asked something first',
    from: 'client',
    schema: 'core-2026-07-28',
    definition: 'CallToolRequest',
    message: {
      jsonrpc: '2.0',
      id: 31,
      method: 'tools/call',
      params: { name: 'render_video', arguments: { scene: 'intro' }, _meta: { ...withForms, ...clientInfo } },
    },
  },
  {
    name: 'question before the task',
    from: 'server',
    schema: 'core-2026-07-28',
    definition: 'InputRequiredResult',
    member: 'result',
    message: {
      jsonrpc: '2.0',
      id: 31,
      result: {
        resultType: 'input_required',
        inputRequests: {
          size: {
            method: 'elicitation/create',
            params: {
              mode: 'form',
              message: 'Resolution?',
              requestedSchema: { type: 'object', properties: { height: { type: 'integer' } }, required: ['height'] },
            },
          },
        },
        requestState: 'v1.sealed.9f3e',
      },
    },
  },
  {
    name: 'repeated call with the answer',
    from: 'client',
    schema: 'core-2026-07-28',
    definition: 'CallToolRequest',
    message: {
      jsonrpc: '2.0',
      id: 32,
      method: 'tools/call',
      params: {
        name: 'render_video',
        arguments: { scene: 'intro' },
        inputResponses: { size: { action: 'accept', content: { height: 1080 } } },
        requestState: 'v1.sealed.9f3e',
        _meta: withForms,
      },
    },
  },
  {
    name: 'handle',
    from: 'server',
    schema: 'ext-tasks-2026-07-28',
    definition: 'CreateTaskResult',
    member: 'result',
    message: {
      jsonrpc: '2.0',
      id: 32,
      result: {
        resultType: 'task',
        taskId: taskId,
        status: 'working',
        createdAt: '2026-08-01T08:00:00.000Z',
        lastUpdatedAt: '2026-08-01T08:00:00.000Z',
        ttlMs: 900000,
        pollIntervalMs: 2000,
      },
    },
  },
  {
    name: 'missing capability',
    from: 'server',
    schema: 'core-2026-07-28',
    definition: 'MissingRequiredClientCapabilityError',
    message: {
      jsonrpc: '2.0',
      id: 33,
      error: {
        code: -32021,
        message: 'Client must declare the tasks extension',
        data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
      },
    },
  },
  {
    name: 'get request',
    from: 'client',
    schema: 'ext-tasks-2026-07-28',
    definition: 'GetTaskRequest',
    message: { jsonrpc: '2.0', id: 34, method: 'tasks/get', params: { taskId: taskId, _meta: withForms } },
  },
  {
    name: 'task that waits',
    from: 'server',
    schema: 'ext-tasks-2026-07-28',
    definition: 'GetTaskResult',
    member: 'result',
    message: {
      jsonrpc: '2.0',
      id: 34,
      result: {
        resultType: 'complete',
        taskId: taskId,
        status: 'input_required',
        statusMessage: 'Waiting for codec choice',
        createdAt: '2026-08-01T08:00:00.000Z',
        lastUpdatedAt: '2026-08-01T08:00:09.000Z',
        ttlMs: 900000,
        pollIntervalMs: 2000,
        inputRequests: {
          q1: {
            method: 'elicitation/create',
            params: {
              mode: 'form',
              message: 'Which codec?',
              requestedSchema: { type: 'object', properties: { codec: { type: 'string' } }, required: ['codec'] },
            },
          },
        },
      },
    },
  },
  {
    name: 'task that ended with an error result',
    from: 'server',
    schema: 'ext-tasks-2026-07-28',
    definition: 'GetTaskResult',
    member: 'result',
    message: {
      jsonrpc: '2.0',
      id: 35,
      result: {
        resultType: 'complete',
        taskId: taskId,
        status: 'completed',
        createdAt: '2026-08-01T08:00:00.000Z',
        lastUpdatedAt: '2026-08-01T08:01:00.000Z',
        ttlMs: 900000,
        result: { resultType: 'complete', content: [{ type: 'text', text: 'codec not available' }], isError: true },
      },
    },
  },
  {
    name: 'task that failed',
    from: 'server',
    schema: 'ext-tasks-2026-07-28',
    definition: 'GetTaskResult',
    member: 'result',
    message: {
      jsonrpc: '2.0',
      id: 36,
      result: {
        resultType: 'complete',
        taskId: taskId,
        status: 'failed',
        statusMessage: 'encoder crashed',
        createdAt: '2026-08-01T08:00:00.000Z',
        lastUpdatedAt: '2026-08-01T08:01:00.000Z',
        ttlMs: 900000,
        error: { code: -32603, message: 'encoder crashed' },
      },
    },
  },
  {
    name: 'update request',
    from: 'client',
    schema: 'ext-tasks-2026-07-28',
    definition: 'UpdateTaskRequest',
    message: {
      jsonrpc: '2.0',
      id: 37,
      method: 'tasks/update',
      params: {
        taskId: taskId,
        inputResponses: { q1: { action: 'accept', content: { codec: 'av1' } } },
        _meta: withForms,
      },
    },
  },
  {
    name: 'acknowledgement',
    from: 'server',
    schema: 'ext-tasks-2026-07-28',
    definition: 'UpdateTaskResult',
    member: 'result',
    message: { jsonrpc: '2.0', id: 37, result: { resultType: 'complete' } },
  },
  {
    name: 'cancel request',
    from: 'client',
    schema: 'ext-tasks-2026-07-28',
    definition: 'CancelTaskRequest',
    message: { jsonrpc: '2.0', id: 38, method: 'tasks/cancel', params: { taskId: taskId, _meta: withTasks } },
  },
  {
    name: 'listen request',
    from: 'client',
    schema: 'core-2026-07-28',
    definition: 'SubscriptionsListenRequest',
    message: {
      jsonrpc: '2.0',
      id: 40,
      method: 'subscriptions/listen',
      params: { notifications: { toolsListChanged: true, taskIds: [taskId, 'not-mine'] }, _meta: withTasks },
    },
  },
  {
    name: 'acknowledged subscription',
    from: 'server',
    schema: 'core-2026-07-28',
    definition: 'SubscriptionsAcknowledgedNotification',
    message: {
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { _meta: subscription, notifications: { toolsListChanged: true, taskIds: [taskId] } },
    },
  },
  {
    name: 'pushed status',
    from: 'server',
    schema: 'ext-tasks-2026-07-28',
    definition: 'TaskStatusNotification',
    message: {
      jsonrpc: '2.0',
      method: 'notifications/tasks',
      params: {
        _meta: subscription,
        taskId: taskId,
        status: 'completed',
        createdAt: '2026-08-01T08:00:00.000Z',
        lastUpdatedAt: '2026-08-01T08:01:00.000Z',
        ttlMs: 900000,
        result: { resultType: 'complete', content: [{ type: 'text', text: 'rendered' }] },
      },
    },
  },
  {
    name: 'end of the subscription',
    from: 'server',
    schema: 'core-2026-07-28',
    definition: 'SubscriptionsListenResult',
    member: 'result',
    message: { jsonrpc: '2.0', id: 40, result: { resultType: 'complete', _meta: subscription } },
  },
  {
    name: 'related task ids',
    from: 'fragment',
    schema: 'ext-tasks-draft',
    definition: 'RelatedTaskIds',
    member: 'ids',
    message: { ids: [taskId] },
  },
];
