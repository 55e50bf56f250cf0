# Asks without any client: a request, whose answer comes when somebody has answered. The token is no argument, which `ps` would show.
set -eu
answer=$(printf 'Authorization: Bearer %s' "$LONGCALL_ASK_TOKEN" |
  curl --silent --fail --header @- --data '{"message": "Publish it?"}' "$LONGCALL_ASK_URL")
case $answer in
*'"action":"accept"'*) echo published ;;
*) echo 'not published' && exit 1 ;;
esac
