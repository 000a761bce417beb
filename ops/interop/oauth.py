"""authlib against the built-in issuer: registration, PKCE, consent, refresh, revocation."""

import os
import re

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session

URL = os.environ["HELIX_URL"]
# authlib refuses plain http, which is what a server on this machine speaks.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
REDIRECT = "http://127.0.0.1:7312/back"
RESOURCE = URL + "/workspace/mcp"


def allow(link: str) -> str:
    person = requests.Session()
    passphrase = os.environ["PERSON_PASSPHRASE"]
    mine = {"email": os.environ["PERSON_EMAIL"], "passphrase": passphrase}
    origin = {"Origin": URL}
    signed_in = person.post(URL + "/sign-in", data=mine, headers=origin, allow_redirects=False)
    assert signed_in.status_code == 303, signed_in.text
    # The cookie is one of https on a real host; here it is sent by hand.
    cookie = {"Cookie": signed_in.headers["Set-Cookie"].split(";")[0]}
    page = person.get(link, headers=cookie).text

    def hidden(name: str) -> str:
        return re.search(f'name="{name}" value="([^"]*)"', page).group(1)

    form = {
        "oauthreq": hidden("oauthreq"),
        "workspace_id": hidden("workspace_id"),
        "reach": "all",
        "scopes": re.findall('name="scopes" value="([^"]*)" checked', page),
        "expires_days": "1",
        "keep_existing": "1",
        "passphrase": passphrase,
        "action": "allow",
    }
    allowed = person.post(URL + "/authorize", data=form, headers=origin | cookie, allow_redirects=False)
    assert allowed.status_code == 303, allowed.text
    return allowed.headers["Location"]


def status(session: OAuth2Session) -> int:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    return session.post(RESOURCE, json=call).status_code


def main() -> None:
    issuer = requests.get(URL + "/.well-known/oauth-authorization-server").json()
    document = {"client_name": "authlib", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"}
    client = requests.post(issuer["registration_endpoint"], json=document).json()
    session = OAuth2Session(
        client["client_id"],
        redirect_uri=REDIRECT,
        scope="brief:read brief:write",
        code_challenge_method="S256",
        token_endpoint_auth_method="none",
    )
    verifier = generate_token(48)
    link, state = session.create_authorization_url(
        issuer["authorization_endpoint"], code_verifier=verifier, resource=RESOURCE
    )
    back = allow(link)
    assert f"state={state}" in back, back
    first = session.fetch_token(
        issuer["token_endpoint"], authorization_response=back, code_verifier=verifier, state=state
    )
    assert status(session) == 200
    second = session.refresh_token(issuer["token_endpoint"], refresh_token=first["refresh_token"])
    assert second["access_token"] != first["access_token"]
    assert status(session) == 200
    revoked = session.revoke_token(
        issuer["revocation_endpoint"], token=second["refresh_token"], token_type_hint="refresh_token"
    )
    assert revoked.status_code == 200
    session.token = second
    assert status(session) == 401
    print("authlib: registered, connected, refreshed, revoked")


main()
