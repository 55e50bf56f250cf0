//! The official SDK for Rust: the tasks of 2026-07-28, whose requests it has and whose polling it leaves to its user.
//! `rmcp-peer TARGET` does what it is told on stdin and tells on stdout, a JSON text a line: ../../program.ts has what is said.
use std::{
    collections::HashMap,
    error::Error,
    io::Write,
    sync::{Arc, Mutex},
    time::Duration,
};

use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient, ServiceError,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientCapabilities, ClientConfig, ElicitRequestParams,
        GetTaskParams, Implementation, InputRequest, InputRequests, InputResponses, ProtocolVersion, TASKS_EXTENSION_ID,
        TaskPayload, UpdateTaskParams,
    },
    service::RunningService,
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
    sync::oneshot,
};

type Failure = Box<dyn Error + Send + Sync>;

struct Host;

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(Default::default());
        capabilities.extensions = Some([(TASKS_EXTENSION_ID.to_owned(), Default::default())].into());
        ClientConfig::new(capabilities, Implementation::new("longcall-interop", "1.0.0"))
    }
}

/// Questions that nobody has answered yet.
#[derive(Default)]
struct Questions(Mutex<HashMap<usize, oneshot::Sender<Value>>>);

struct Peer {
    service: RunningService<RoleClient, Host>,
    questions: Questions,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let target: Value = serde_json::from_str(&std::env::args().nth(1).ok_or("TARGET is missing")?)?;
    let peer = Arc::new(Peer { service: connect(&target).await?, questions: Questions::default() });
    say(json!({ "id": 0 }));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let told: Value = serde_json::from_str(&line)?;
        if let Some(question) = told["answer"].as_u64() {
            peer.questions.answer(question as usize, told["content"].clone());
            continue;
        }
        let peer = peer.clone();
        tokio::spawn(async move {
            match peer.perform(&told).await {
                Ok(value) => say(json!({ "id": told["id"], "value": value })),
                Err(broke) => say(json!({ "id": told["id"], "broke": broke.to_string() })),
            }
        });
    }
    peer.service.cancellation_token().cancel();
    Ok(())
}

async fn connect(target: &Value) -> Result<RunningService<RoleClient, Host>, Failure> {
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    if let Some(url) = target["url"].as_str() {
        let transport = StreamableHttpClientTransport::from_uri(url);
        return Ok(Host.serve_with_lifecycle(transport, lifecycle).await?);
    }
    let mut command = Command::new(text(&target["command"]));
    command.args(target["args"].as_array().into_iter().flatten().map(text)).current_dir(text(&target["cwd"]));
    Ok(Host.serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle).await?)
}

impl Peer {
    async fn perform(&self, told: &Value) -> Result<Value, Failure> {
        let task_id = text(&told["taskId"]);
        match text(&told["do"]).as_str() {
            "call" => self.call(told).await,
            "start" => match self.send(told).await? {
                CallToolResponse::Task(created) => Ok(json!({ "taskId": created.task.task_id })),
                other => Err(format!("no task: {other:?}").into()),
            },
            "outcome" => self.outcome(&task_id).await,
            "cancel" => Ok(json!(self.service.cancel_task(CancelTaskParams::new(task_id)).await?)),
            other => Err(format!("cannot {other}").into()),
        }
    }

    async fn send(&self, told: &Value) -> Result<CallToolResponse, ServiceError> {
        let params = CallToolRequestParams::new(text(&told["tool"]));
        self.service.call_tool_once(params.with_arguments(told["args"].as_object().cloned().unwrap_or_default())).await
    }

    async fn call(&self, told: &Value) -> Result<Value, Failure> {
        match self.send(told).await {
            Ok(CallToolResponse::Complete(result)) => Ok(json!({ "status": "result", "result": result })),
            Ok(other) => Err(format!("no result: {other:?}").into()),
            Err(error) => refused(error),
        }
    }

    async fn outcome(&self, task_id: &str) -> Result<Value, Failure> {
        loop {
            let seen = match self.service.get_task(GetTaskParams::new(task_id)).await {
                Ok(answer) => answer.task,
                Err(error) => return refused(error),
            };
            say(json!({ "progress": seen.task.status_message.unwrap_or_default() }));
            match seen.payload {
                TaskPayload::Completed { result } => return Ok(json!({ "status": "result", "result": result })),
                TaskPayload::Failed { error } => {
                    return Ok(json!({ "status": "error", "code": error["code"], "message": error["message"] }));
                }
                TaskPayload::Cancelled => return Ok(json!({ "status": "cancelled" })),
                TaskPayload::InputRequired { input_requests } => {
                    let answers = self.answers(input_requests).await?;
                    self.service.update_task(UpdateTaskParams::new(task_id, answers)).await?;
                }
                _ => {}
            }
            tokio::time::sleep(Duration::from_millis(seen.task.poll_interval_ms.unwrap_or(1000))).await;
        }
    }

    async fn answers(&self, requests: InputRequests) -> Result<InputResponses, Failure> {
        let mut answers = InputResponses::new();
        for (key, request) in requests {
            let InputRequest::Elicitation(asked) = request else { return Err("not a form".into()) };
            let ElicitRequestParams::FormElicitationParams { message, .. } = asked.params else {
                return Err("not a form".into());
            };
            answers.insert(key, match self.questions.ask(&message).await? {
                Value::Null => json!({ "action": "decline" }),
                content => json!({ "action": "accept", "content": content }),
            });
        }
        Ok(answers)
    }
}

impl Questions {
    async fn ask(&self, message: &str) -> Result<Value, Failure> {
        let (sender, answered) = oneshot::channel();
        let number = {
            let mut open = self.0.lock().unwrap();
            let number = open.len() + 1;
            open.insert(number, sender);
            number
        };
        say(json!({ "question": number, "message": message }));
        Ok(answered.await?)
    }

    fn answer(&self, number: usize, content: Value) {
        if let Some(sender) = self.0.lock().unwrap().remove(&number) {
            let _ = sender.send(content); // Whoever asked may have given up.
        }
    }
}

/// An error that is an answer, as an outcome.
fn refused(error: ServiceError) -> Result<Value, Failure> {
    match error {
        ServiceError::McpError(said) => Ok(json!({ "status": "error", "code": said.code, "message": said.message })),
        other => Err(other.into()),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn say(what: Value) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{what}").and_then(|()| out.flush()).expect("nobody listens");
}
